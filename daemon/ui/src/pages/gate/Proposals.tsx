/** What others propose at a gate. A proposal is advice: only a person's decision counts. */

import type { Proposal } from "../../api/types";
import { ProposalList } from "../../components/record/ProposalList";

export function Proposals({ proposals }: { proposals: Proposal[] }) {
  return (
    <div aria-live="polite">
      {proposals.length > 0 && (
        <section className="card" aria-label="Proposals">
          <h2>{proposals.length === 1 ? "Proposal" : "Proposals"}</h2>
          <p className="muted small gap">
            A proposal is advice and decides nothing. The run waits for a person&apos;s decision.
          </p>
          <ProposalList proposals={proposals} />
        </section>
      )}
    </div>
  );
}
