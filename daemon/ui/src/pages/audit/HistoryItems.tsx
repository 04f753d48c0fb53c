/** Items of the company history. */

import { get } from "../../api/client";
import { getCanvas } from "../../api/resources";
import type { CompanyEvent, Run } from "../../api/types";
import { EventEntry } from "../../components/record/EventEntry";
import { titled } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { PersonName } from "../../components/record/PersonName";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { formatTime } from "../../text/labels";
import { clockKey } from "../../text/sentences";
import type { LogEvent } from "./companyLog";
import { describeChanges, describeLogEvent, type Names } from "./logSentences";
import { audit as t } from "../../text/en/audit";

export function LogEntryItem({ event, names }: { event: LogEvent; names: Names }) {
  return (
    <li>
      <p>
        <Icon name="gate" size={14} />{" "}
        <strong>
          <Actor event={event} />
        </strong>{" "}
        <Label text={describeLogEvent(event, names)} maxLength={400} />
      </p>
      {describeChanges(event, names).map((line) => (
        <p key={line} className="small">
          <Label text={line} maxLength={400} />
        </p>
      ))}
      <p className="muted small">
        <time dateTime={event.at}>{formatTime(event.at)}</time>
      </p>
      {event.tool_id !== undefined && (
        <a className="small" href={linkTo("connectors", event.tool_id)}>
          <Icon name="connectors" size={14} /> <Label text={event.tool_id} maxLength={60} />
        </a>
      )}
    </li>
  );
}

function Actor({ event: { by, by_kind: kind } }: { event: LogEvent }) {
  if (by === undefined) return t("somebody");
  return by === "" ? t("theService") : <PersonName by={by} kind={kind} />;
}

const labelCache = new Map<string, Promise<Map<string, string>>>();

/** The labels of a run's steps, cached. */
function stepLabels(run: string): Promise<Map<string, string>> {
  const found = labelCache.get(run);
  if (found !== undefined) return found;
  const request = get<Run>(`/process-runs/${run}`).then(async (item) => {
    const graph = await getCanvas(item.vertical, item.template.digest);
    return new Map([
      ...graph.nodes.map((node): [string, string] => [node.id, node.label]),
      ...graph.clocks.map((clock): [string, string] => [clockKey(clock.id), clock.label]),
      ["", titled(graph.title, item.business_key)],
    ]);
  });
  labelCache.set(run, request);
  request.catch(() => labelCache.delete(run));
  return request;
}

export function RunEventItem({ item }: { item: CompanyEvent }) {
  const { value } = useLoad(`labels ${item.run_id}`, () => stepLabels(item.run_id));
  return (
    <li>
      <EventEntry event={item.event} label={(id) => value?.get(id) ?? id} />
      <a className="small" href={linkTo("runs", item.run_id)}>
        <Icon name="runs" size={14} /> <Label text={value?.get("") ?? t("theRun")} maxLength={60} />
        <span className="visually-hidden"> {item.run_id}</span>
      </a>
    </li>
  );
}
