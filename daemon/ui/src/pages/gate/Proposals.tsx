/** What others propose at a gate. A proposal is advice: only a person's decision counts. */

import type { Proposal } from "../../api/types";
import { ProposalList } from "../../components/record/ProposalList";
import { gate as t } from "../../text/en/gate";

export function Proposals({ proposals }: { proposals: Proposal[] }) {
  return (
    <div aria-live="polite">
      {proposals.length > 0 && (
        <section className="card" aria-label={t("proposals")}>
          <h2>{proposals.length === 1 ? t("proposal") : t("proposals")}</h2>
          <p className="muted small gap">{t("proposalHint")}</p>
          <ProposalList proposals={proposals} />
        </section>
      )}
    </div>
  );
}
