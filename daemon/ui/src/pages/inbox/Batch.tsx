/** Verdicts at several gates: what is selected, and what came of a decision. */

import { useState } from "react";
import type { GateRow } from "../../api/types";
import { Note } from "../../components/Feedback";
import { Label } from "../../components/Text";
import { BatchDialog, type Outcome } from "./BatchDialog";
import type { BatchDecision } from "./batchVerdicts";
import { common } from "../../text/en/common";
import { inbox as t } from "../../text/en/inbox";

const NAMED_MAX = 8;

export function Batch({
  rows,
  onClear,
  onDone,
}: {
  rows: GateRow[];
  onClear: () => void;
  onDone: () => void;
}) {
  const [asked, setAsked] = useState<BatchDecision | null>(null);
  const [told, setTold] = useState<Outcome | null>(null);
  if (rows.length === 0 && told === null && asked === null) return null;
  return (
    <section className="batch" aria-label={t("selectedGates")}>
      {rows.length > 0 && (
        <>
          <strong role="status">{t("selected", { count: rows.length })}</strong>
          <button type="button" className="button primary" onClick={() => setAsked("approved")}>
            {t("approveDots")}
          </button>
          <button type="button" className="button" onClick={() => setAsked("denied")}>
            {t("denyDots")}
          </button>
          <button type="button" className="link" onClick={onClear}>
            {t("clear")}
          </button>
        </>
      )}
      {told !== null && <BatchTold told={told} onClose={() => setTold(null)} />}
      {asked !== null && (
        <BatchDialog
          decision={asked}
          rows={rows}
          onNo={() => setAsked(null)}
          onDone={(outcome) => {
            setAsked(null);
            setTold(outcome);
            onDone();
            if (outcome.refused.length === 0) onClear();
          }}
        />
      )}
    </section>
  );
}

function BatchTold({ told, onClose }: { told: Outcome; onClose: () => void }) {
  const count = told.done;
  const done = told.decision === "approved" ? t("approved", { count }) : t("denied", { count });
  const refused = told.refused.length;
  return (
    <Note
      kind={refused > 0 ? "warn" : "good"}
      title={refused > 0 ? t("someRefused", { done, refused }) : done}
    >
      {refused > 0 && (
        <ul className="items">
          {told.refused.slice(0, NAMED_MAX).map((line) => (
            <li key={line}>
              <Label text={line} maxLength={300} />
            </li>
          ))}
          {refused > NAMED_MAX && <li>{common("more", { count: refused - NAMED_MAX })}</li>}
        </ul>
      )}
      <button type="button" className="link" onClick={onClose}>
        {t("dismiss")}
      </button>
    </Note>
  );
}
