-- purpose: what admitted, rejected and held pairs look like on average, for display only: nothing signed comes from a
--   sum of doubles (the receipt's means are exact sums in the engine)
-- grain: one row a state
-- parameters: none
-- columns: state; pairs (valid ones with figures); mean_margin, mean_drift, mean_ratio_log2 (of chosen : rejected),
--   mean_loss, mean_chosen_tokens, mean_rejected_tokens
select
    state,
    count(*) as pairs,
    favg(margin_figure) as mean_margin,
    favg(drift_figure) as mean_drift,
    favg(ratio_figure) as mean_ratio_log2,
    favg(loss_figure) as mean_loss,
    favg(chosen_token_count) as mean_chosen_tokens,
    favg(rejected_token_count) as mean_rejected_tokens
from charted
where valid
group by state
order by state;
