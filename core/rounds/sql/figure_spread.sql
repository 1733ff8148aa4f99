-- purpose: the span that the bars of each chart cover, from the round's own quantiles; what lies beyond is counted in
--   an under- or overflow bar
-- grain: one row
-- parameters: $low, $high quantiles in 0..1
-- columns: n_*, low_*, high_* (the quantiles), min_*, max_* for margin, ratio, drift, loss; null where no pair has the figure
select
    count(margin_figure) as n_margin,
    quantile_disc(margin_figure, $low) as low_margin,
    quantile_disc(margin_figure, $high) as high_margin,
    min(margin_figure) as min_margin,
    max(margin_figure) as max_margin,
    count(ratio_figure) as n_ratio,
    quantile_disc(ratio_figure, $low) as low_ratio,
    quantile_disc(ratio_figure, $high) as high_ratio,
    min(ratio_figure) as min_ratio,
    max(ratio_figure) as max_ratio,
    count(drift_figure) as n_drift,
    quantile_disc(drift_figure, $low) as low_drift,
    quantile_disc(drift_figure, $high) as high_drift,
    min(drift_figure) as min_drift,
    max(drift_figure) as max_drift,
    count(loss_figure) as n_loss,
    quantile_disc(loss_figure, $low) as low_loss,
    quantile_disc(loss_figure, $high) as high_loss,
    min(loss_figure) as min_loss,
    max(loss_figure) as max_loss
from figures;
