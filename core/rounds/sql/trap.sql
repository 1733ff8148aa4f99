-- purpose: pairs that pass on margin and length and are rejected because their chosen answer became less likely
-- grain: one row
-- parameters: none
-- columns: pairs; mean_margin, mean_drift (means for display, null without pairs); chosen_fell and both_fell = pairs whose
--   chosen answer, or both answers, became less likely than under the reference
select
    count(*) as pairs,
    favg(margin_figure) as mean_margin,
    favg(drift_figure) as mean_drift,
    count(*) filter (where policy_logp_chosen < ref_logp_chosen) as chosen_fell,
    count(*) filter (
        where policy_logp_chosen < ref_logp_chosen and policy_logp_rejected < ref_logp_rejected
    ) as both_fell
from charted
where state = 'rejected' and primary_reason = 'logp_collapse';
