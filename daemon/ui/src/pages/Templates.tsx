/** What can be run: each template with its picture, where people decide, and how risky that is. */

import { lazy, Suspense, useState } from "react";
import { canvas, templates, useLoad } from "../hooks";
import { Empty, Heading, Loading, TierBadge, Trouble } from "../parts/Bits";
import { Search, Shown } from "../parts/Filter";
import { Icon } from "../parts/Icon";
import { Label } from "../parts/Text";
import { to } from "../router";
import { counted } from "../sentences";
import type { TemplateSummary, Tier } from "../types";
import { TIERS } from "../words";

const Thumb = lazy(() => import("../graph/Thumb"));

export function TemplatesPage() {
  const { value, problem, reload } = useLoad("templates", templates);
  const [text, setText] = useState("");
  const shown = (value ?? []).filter((one) => `${one.title} ${one.description} ${one.vertical}`.toLowerCase().includes(text.trim().toLowerCase()));
  return (
    <>
      <Heading title="Templates">
        <p className="lead">Choose a process to start a run of it. Each brings an example, so you can try it without data of your own.</p>
      </Heading>
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what="Loading the templates" />
        ) : (
          <Trouble problem={problem} retry={reload} />
        )
      ) : value.length === 0 ? (
        <Empty icon="templates" title="There are no templates" />
      ) : (
        <>
          <div className="filters">
            <Search value={text} onChange={setText} />
            <Shown shown={shown.length} all={value.length} />
          </div>
          {shown.length === 0 && <Empty icon="search" title="No template fits" />}
          <ul className="gallery" aria-label="Templates">
            {shown.map((one) => (
              <Card key={one.vertical} one={one} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Card({ one }: { one: TemplateSummary }) {
  const { value } = useLoad(`canvas ${one.vertical}`, () => canvas(one.vertical));
  const gates = (value?.nodes ?? []).filter((node) => node.gate);
  const worst = TIERS.find((tier): tier is Tier => gates.some((node) => node.tier === tier));
  return (
    <li className="tile">
      <Suspense fallback={<div className="thumb" />}>
        <Thumb vertical={one.vertical} />
      </Suspense>
      <h2>
        <a href={to("templates", one.vertical)}>
          <Label text={one.title} />
        </a>
      </h2>
      <p>
        <Label text={one.description} most={260} />
      </p>
      <p className="badges">
        {worst !== undefined && <TierBadge tier={worst} />}
        <span className="muted">
          <Icon name="gate" size={14} /> {counted(one.gates.length, "decision")} · {counted(one.steps, "step")}
        </span>
      </p>
    </li>
  );
}
