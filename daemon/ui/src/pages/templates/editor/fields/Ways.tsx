/** Where a step leads on to: its branches, their conditions and the next steps. */

import type { TemplateCheck } from "../../../../api/types";
import { Field } from "../../../../components/Field";
import { Icon } from "../../../../components/Icon";
import { CelField } from "./CelField";
import {
  type Draft,
  ERROR,
  nameOf,
  replaced,
  type Step,
  type Way,
  waysOf,
  withWays,
} from "../draft/document";
import { CONDITION, placeOf } from "../draft/findings";
import { namesIn } from "../draft/names";
import { editor as t } from "../../../../text/en/editor";

interface Props {
  draft: Draft;
  step: Step;
  check: TemplateCheck | null;
  /** Whether a person decides here. */
  decided: boolean;
  onChange: (draft: Draft) => void;
}

export function Ways({ draft, step, check, decided, onChange }: Props) {
  const all = waysOf(step);
  const failing = step.kind === "task" ? all.filter((way) => way.branch === ERROR) : [];
  const ways = all.filter((way) => !failing.includes(way));
  const set = (made: Way[]) =>
    onChange(replaced(draft, step.id, withWays(step, [...made, ...failing])));
  const conditional = step.kind === "gateway" && step["flow"] !== "parallel";
  const targets = draft.steps.map((one) => ({ value: one.id, name: nameOf(one) }));
  return (
    <fieldset className="ways">
      <legend>{t("nextSteps")}</legend>
      {ways.map((way, place) => {
        const put = (members: Partial<Way>) =>
          set(ways.map((one, other) => (other === place ? { ...one, ...members } : one)));
        const missing = targets.every((one) => one.value !== way.to);
        return (
          <div className="way" key={place}>
            {(isBranching(step, decided) || way.branch !== null) && (
              <Branch step={step} decided={decided} way={way} place={place} put={put} />
            )}
            {(conditional || way.when !== null) && (
              <CelField
                label={t("conditionOf", { place: place + 1 })}
                value={way.when ?? ""}
                names={namesIn(draft)}
                onChange={(when) => put({ when: when === "" ? null : when })}
                error={refusedWay(check, step, way)}
                {...(way.when === null ? { hint: t("conditionHint") } : {})}
              />
            )}
            <Field
              label={t("nextOf", { place: place + 1 })}
              value={way.to}
              options={
                missing
                  ? [{ value: way.to, name: t("missingStep", { step: way.to }) }, ...targets]
                  : targets
              }
              onChange={(to) => put({ to })}
              required
            />
            <button
              type="button"
              className="button"
              aria-label={t("removeBranch", { place: place + 1 })}
              onClick={() => set(ways.filter((_, other) => other !== place))}
            >
              <Icon name="close" size={16} /> {t("remove")}
            </button>
          </div>
        );
      })}
      <button
        type="button"
        className="button"
        onClick={() =>
          set([...ways, { branch: null, when: null, to: draft.steps.at(-1)?.id ?? step.id }])
        }
      >
        <Icon name="plus" size={16} /> {t("addNext")}
      </button>
    </fieldset>
  );
}

function isBranching(step: Step, decided: boolean): boolean {
  return decided || step.kind === "gateway" || (step.kind === "wait" && "message" in step);
}

function Branch({
  step,
  decided,
  way,
  place,
  put,
}: {
  step: Step;
  decided: boolean;
  way: Way;
  place: number;
  put: (members: Partial<Way>) => void;
}) {
  const names =
    step.kind === "gateway" ? null : decided ? ["approved", "denied"] : ["message", "timeout"];
  const value = way.branch ?? "";
  const fits = names !== null && (value === "" || names.includes(value));
  const options = fits
    ? [
        { value: "", name: t("anyBranch") },
        ...names.map((value) => ({ value, name: t.code("branchName", value) })),
      ]
    : undefined;
  return (
    <Field
      label={t("branch", { place: place + 1 })}
      value={value}
      onChange={(branch) => put({ branch: branch === "" ? null : branch })}
      {...(options === undefined ? {} : { options, required: true })}
    />
  );
}

function refusedWay(check: TemplateCheck | null, step: Step, way: Way): string | undefined {
  if (way.when === null) return undefined;
  return check?.violations.find(
    (one) =>
      one.rule === CONDITION &&
      placeOf(one) === step.id &&
      (one.edge === null || one.edge.branch === way.branch),
  )?.detail;
}
