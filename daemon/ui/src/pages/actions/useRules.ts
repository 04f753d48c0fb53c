/** The rules for actions of the company, with the tag of what was seen. */

import { send } from "../../api/client";
import type { ActionRules } from "../../api/types";
import { useAccount } from "../../state/session";
import { type Loaded, useLoad } from "../../state/useLoad";

export interface SeenRules {
  rules: ActionRules;
  etag: string;
}

export type RulesLoaded = Loaded<SeenRules> & { path: string };

export function useRules(): RulesLoaded {
  const path = `/companies/${encodeURIComponent(useAccount().company.id)}/action-rules`;
  const loaded = useLoad(path, async () => {
    const { value, etag } = await send<ActionRules>("GET", path);
    return { rules: value, etag: etag ?? "" };
  });
  return { ...loaded, path };
}
