/** What laws and standards ask of a process, and the two rehearsals that show each. */

import { prettyPrint } from "../../api/json";
import { getRules } from "../../api/resources";
import type { CitedRule, RehearsalCase, RehearsedAct } from "../../api/types";
import { LoadError, Loading } from "../../components/Feedback";
import { Label, Text } from "../../components/Text";
import { useLoad } from "../../state/useLoad";
import { formatDay, formatList, formatTime } from "../../text/formats";
import { decisionLabel, outcomeLabel, statusLabel } from "../../text/labels";
import { library as t } from "../../text/en/library";
import { durationText } from "../../text/policy";

export function Rules({ vertical }: { vertical: string }) {
  const { value, problem, reload } = useLoad(`rules ${vertical}`, () => getRules(vertical));
  if (value === null)
    return problem === null ? (
      <Loading rows={3} what={t("loadingRules")} />
    ) : (
      <LoadError problem={problem} retry={reload} />
    );
  return (
    <>
      <h3>{t("sources")}</h3>
      <ul className="sources">
        {value.map((rule, nth) => (
          <li key={nth}>
            <Rule rule={rule} />
            {rule.rehearsals.map((one) => (
              <Rehearsal key={one.name} one={one} passes={one.name === rule.shown_by?.passes} />
            ))}
          </li>
        ))}
      </ul>
    </>
  );
}

/** A rule: its source and days, and the steps that enforce it or why none does. */
export function Rule({ rule }: { rule: CitedRule }) {
  const holds = [
    rule.jurisdiction,
    rule.valid_from === null ? null : t("validFrom", { day: formatDay(rule.valid_from) }),
    rule.valid_to === null ? null : t("validTo", { day: formatDay(rule.valid_to) }),
    rule.reviewed_on === null ? null : t("reviewedOn", { day: formatDay(rule.reviewed_on) }),
  ].filter((one) => one !== null);
  return (
    <>
      <strong>
        <Label text={rule.source} maxLength={200} />
      </strong>
      {rule.id !== null && (
        <>
          {" "}
          <code>{rule.id}</code>
        </>
      )}
      <br />
      <Label text={rule.says} maxLength={600} />
      <br />
      <small className="muted">
        {rule.not_enforced === null ? (
          t("enforcedBy", { steps: rule.enforced_by.join(", ") })
        ) : (
          <Label text={t("notEnforced", { why: rule.not_enforced })} maxLength={600} />
        )}
        {rule.exempt.length > 0 && (
          <>
            <br />
            {t("exempt", { ends: formatList(rule.exempt, "disjunction") })}
          </>
        )}
        {holds.length > 0 && (
          <>
            <br />
            <Label text={holds.join(" · ")} maxLength={300} />
          </>
        )}
      </small>
    </>
  );
}

function Rehearsal({ one, passes }: { one: RehearsalCase; passes: boolean }) {
  const name = <Label text={one.says ?? one.name} maxLength={500} />;
  return (
    <details className="hint">
      <summary>{passes ? t("passes", { name }) : t("stops", { name })}</summary>
      <p>{t("starts", { who: <Label text={one.by} />, time: formatTime(one.at) })}</p>
      <pre tabIndex={0}>
        <Text text={prettyPrint(one.inputs)} />
      </pre>
      {one.acts.length > 0 && (
        <ol>
          {one.acts.map((act, nth) => (
            <li key={nth}>
              <Act act={act} />
            </li>
          ))}
        </ol>
      )}
      <Result one={one} />
    </details>
  );
}

function Act({ act }: { act: RehearsedAct }) {
  if (act.gate !== null)
    return t("actVerdict", {
      who: <Label text={act.by ?? ""} />,
      decision: <Label text={decisionLabel(act.decision ?? "")} />,
      gate: <Label text={act.gate} />,
    });
  if (act.message !== null) return t("actMessage", { name: <Label text={act.message} /> });
  return act.lapse === null || act.lapse === "next"
    ? t("actNext")
    : t("actLapse", { time: durationText(act.lapse) });
}

/** How a rehearsal ends, in a line for each thing that it says. */
function Result({ one: { result } }: { one: RehearsalCase }) {
  const lines = [
    result.outcome === null ? statusLabelOf(result.status) : outcomeLabel(result.outcome),
    result.refused === null ? null : t("refusedFor", { why: t.code("refused", result.refused) }),
    result.parked_at.length === 0 ? null : t("standsAt", { gates: formatList(result.parked_at) }),
    result.reached.length === 0 ? null : t("reached", { steps: formatList(result.reached) }),
    result.not_reached.length === 0
      ? null
      : t("notReached", { steps: formatList(result.not_reached) }),
    ...Object.entries(result.clocks).map(([clock, state]) =>
      t("clockIs", { clock, state: t.code("clock", state) }),
    ),
    result.at === null ? null : t("byThen", { time: formatTime(result.at) }),
  ].filter((line) => line !== null);
  return (
    <p>
      {lines.map((line, nth) => (
        <span key={nth}>
          {nth > 0 && <br />}
          <Label text={line} maxLength={600} />
        </span>
      ))}
    </p>
  );
}

function statusLabelOf(status: string): string {
  return statusLabel(status as Parameters<typeof statusLabel>[0]);
}
