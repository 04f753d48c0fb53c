/** Proposals at a gate: who proposes which decision, how surely, and why. */

import type { Proposal } from "../../api/types";
import { common as t } from "../../text/en/common";
import { decisionLabel, formatConfidence } from "../../text/labels";
import { PersonName } from "./PersonName";
import { Label, Text } from "../Text";
import { TimeAgo } from "../Time";
import { ValueTable } from "../ValueTable";

export function ProposalList({ proposals }: { proposals: Proposal[] }) {
  return (
    <ul className="proposals">
      {proposals.map((one) => (
        <ProposalItem key={`${one.by_kind} ${one.by}`} proposal={one} />
      ))}
    </ul>
  );
}

function ProposalItem({ proposal }: { proposal: Proposal }) {
  const { by, by_kind, decision, confidence, comment, form, at } = proposal;
  return (
    <li>
      <p>
        {t("proposes", {
          by: (
            <strong>
              <PersonName by={by} kind={by_kind} />
            </strong>
          ),
          decision: <Label text={decisionLabel(decision)} maxLength={80} />,
        })}
      </p>
      {comment !== null && (
        <blockquote>
          <Text text={comment} />
        </blockquote>
      )}
      {form !== null && Object.keys(form).length > 0 && <ValueTable values={form} />}
      <p className="muted small">
        {confidence !== null && (
          <>{t("confidence", { confidence: formatConfidence(confidence) })} · </>
        )}
        <TimeAgo at={at} />
      </p>
    </li>
  );
}
