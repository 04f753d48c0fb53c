/** How often people approved at each confidence, beside the calibration curve and the floor. */

import { useMemo } from "react";
import type { StepCalibration } from "../../api/types";
import { formatNumber, formatShare } from "../../text/formats";
import { DataTable } from "../dashboard/DataTable";
import { Plot, type Scale, type Series } from "../dashboard/Plot";
import { autonomy as t } from "../../text/en/autonomy";

const SHARES: Scale = {
  range: () => [0, 1],
  format: formatShare,
  steps: [0.1, 0.2, 0.25, 0.5],
};

export function Reliability({ step, name }: { step: StepCalibration; name: string }) {
  const { xs, series } = useMemo(() => drawn(step), [step]);
  return (
    <Plot title={t("reliability")} heading="h4" xs={xs} series={series} x={SHARES} y={SHARES}>
      <DataTable
        caption={`${t("reliability")}: ${name}`}
        head={[t("confidence"), t("cases"), t("meanConfidence"), t("approved")]}
        rows={step.bins.map((bin) => [
          t("fromTo", { low: formatShare(bin.low), high: formatShare(bin.high) }),
          formatNumber(bin.cases),
          formatShare(bin.mean_raw),
          formatShare(bin.approved),
        ])}
      />
      {step.curve.length > 0 && (
        <DataTable
          caption={`${t("curve")}: ${name}`}
          head={[t("fromConfidence"), t("estimate"), t("lower")]}
          rows={step.curve.map((point) => [
            formatShare(point.raw),
            formatShare(point.estimate),
            formatShare(point.lower),
          ])}
        />
      )}
    </Plot>
  );
}

/** All series share one axis: what a series does not say there is null. */
function drawn(step: StepCalibration): { xs: number[]; series: Series[] } {
  const { bins, curve, floor } = step;
  const all = [0, 1, ...bins.map((bin) => bin.mean_raw), ...curve.map((point) => point.raw)];
  const xs = [...new Set(all)].sort((a, b) => a - b);
  const approved = new Map(bins.map((bin) => [bin.mean_raw, bin.approved]));
  const points = xs.map((x) => curve.findLast((point) => point.raw <= x));
  const series: Series[] = [
    { name: t("perfect"), colour: "muted", shape: "dashes", values: xs },
    { name: t("floor"), colour: "bad", shape: "dashes", values: xs.map(() => floor) },
    { name: t("approved"), colour: "accent", values: xs.map((x) => approved.get(x) ?? null) },
  ];
  if (curve.length > 0) {
    const steps = { shape: "steps" } as const;
    series.push(
      { ...steps, name: t("estimate"), colour: "violet", values: points.map(estimate) },
      { ...steps, name: t("lower"), colour: "good", values: points.map(lower) },
    );
  }
  return { xs, series };
}

type Point = StepCalibration["curve"][number] | undefined;

function estimate(point: Point): number | null {
  return point?.estimate ?? null;
}

function lower(point: Point): number | null {
  return point?.lower ?? null;
}
