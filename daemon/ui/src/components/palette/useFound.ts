/** What the command palette finds: asked of the service, but for short lists that are loaded. */

import { useEffect, useMemo, useState } from "react";
import { get } from "../../api/client";
import { getConnectors, getTemplates } from "../../api/resources";
import type { GateRow, RunRow } from "../../api/types";
import { useMembers } from "../../state/members";
import { linkTo } from "../../state/router";
import { useLoad, useTemplateTitles } from "../../state/useLoad";
import { identityOf } from "../../text/identity";
import { common as t } from "../../text/en/common";
import { statusLabel } from "../../text/labels";
import type { IconName } from "../Icon";

export interface Found {
  id: string;
  name: string;
  about: string;
  address: string;
  icon: IconName;
}

const PAUSE_MS = 100;
const EACH_MAX = 6;
const PAGES = [
  ["nav.inbox", "#/", "inbox"],
  ["nav.runs", "#/runs", "runs"],
  ["nav.templates", "#/templates", "templates"],
  ["nav.connectors", "#/connectors", "connectors"],
  ["nav.people", "#/people", "gate"],
  ["nav.autonomy", "#/autonomy", "judging"],
  ["nav.dashboard", "#/dashboard", "dashboard"],
  ["nav.audit", "#/audit", "audit"],
  ["yourAccount", "#/account", "gate"],
] as const;

function pages(): Found[] {
  return PAGES.map(([key, address, icon]) => ({
    id: `page-${key.replace(".", "-")}`,
    name: t(key),
    about: t("page"),
    address,
    icon,
  }));
}

export function useFound(text: string): { found: Found[]; busy: boolean } {
  const wanted = text.trim().toLowerCase();
  const near = useLoadedLists();
  const { far, busy } = useAsked(wanted);
  const found = useMemo(() => {
    if (wanted === "") return pages();
    const matches = (one: Found) => `${one.name} ${one.about}`.toLowerCase().includes(wanted);
    return [...pages().filter(matches), ...far, ...near.filter(matches).slice(0, 3 * EACH_MAX)];
  }, [wanted, near, far]);
  return { found, busy };
}

/** Templates, connectors and people: few, and loaded anyway. */
function useLoadedLists(): Found[] {
  const { value: templates } = useLoad("templates", getTemplates);
  const { value: connectors } = useLoad("palette connectors", getConnectors);
  const { value: members } = useMembers();
  return useMemo(
    () => [
      ...(templates ?? []).map((one): Found => ({
        id: `template-${one.vertical}`,
        name: one.title,
        about: t("template"),
        address: linkTo("templates", one.vertical),
        icon: "templates",
      })),
      ...(connectors ?? []).map((one): Found => ({
        id: `connector-${one.tool_id}`,
        name: one.tool_id,
        about: t("connector"),
        address: linkTo("connectors", one.tool_id),
        icon: "connectors",
      })),
      ...(members ?? []).map((one): Found => ({
        id: `person-${one.id}`,
        name: one.name ?? one.email,
        about: one.name === null ? t("person") : one.email,
        address: "#/people",
        icon: "gate",
      })),
    ],
    [templates, connectors, members],
  );
}

/** Gates and runs, however many there are. */
function useAsked(wanted: string): { far: Found[]; busy: boolean } {
  const [state, setState] = useState<{ wanted: string; far: Found[] }>({ wanted: "", far: [] });
  const titles = useTemplateTitles();
  useEffect(() => {
    if (wanted === "") return;
    const own = new AbortController();
    const timer = setTimeout(() => {
      const query = `view=row&limit=${EACH_MAX}&q=${encodeURIComponent(wanted)}`;
      Promise.all([
        get<GateRow[]>(`/gates/?${query}`, own.signal).catch(() => []),
        get<RunRow[]>(`/process-runs/?${query}`, own.signal).catch(() => []),
      ]).then(
        ([gates, runs]) => {
          if (!own.signal.aborted)
            setState({
              wanted,
              far: [...gates.map(foundGate), ...runs.map((run) => foundRun(run, titles))],
            });
        },
        () => undefined,
      );
    }, PAUSE_MS);
    return () => {
      clearTimeout(timer);
      own.abort();
    };
  }, [wanted, titles]);
  return { far: wanted === "" ? [] : state.far, busy: state.wanted !== wanted };
}

function foundGate(row: GateRow): Found {
  return {
    id: `gate-${row.run_id}-${row.gate.step_id}`,
    name:
      row.gate.question ??
      `${row.gate.label}: ${identityOf(row.business_key, row.inputs)?.value ?? row.run_id}`,
    about: t("gateOf", { title: row.title }),
    address: linkTo("runs", row.run_id, "gates", row.gate.step_id),
    icon: "inbox",
  };
}

function foundRun(run: RunRow, titles: Map<string, string>): Found {
  return {
    id: `run-${run.id}`,
    name: identityOf(run.business_key, run.inputs)?.value ?? run.id,
    about: t("runOf", {
      vertical: titles.get(run.vertical) ?? run.vertical,
      status: statusLabel(run.status),
    }),
    address: linkTo("runs", run.id),
    icon: "runs",
  };
}
