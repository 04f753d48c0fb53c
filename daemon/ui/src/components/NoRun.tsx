/** Why a run is not shown. */

import type { Problem } from "../api/client";
import { linkTo } from "../state/router";
import { useAccount } from "../state/session";
import { isAtLeast } from "../text/labels";
import { LoadError } from "./Feedback";
import { readers as t } from "../text/en/readers";

/** An admin sees why it may be closed to them; an id that was never given leads there, too. */
export function NoRun({ id, problem, retry }: { id: string; problem: Problem; retry: () => void }) {
  const { role } = useAccount();
  return (
    <>
      <LoadError problem={problem} retry={retry} />
      {problem.status === 404 && isAtLeast(role, "admin") && (
        <p>
          <a href={`${linkTo("people", "readers")}?run=${encodeURIComponent(id)}`}>{t("why")}</a>
        </p>
      )}
    </>
  );
}
