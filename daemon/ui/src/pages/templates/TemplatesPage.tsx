/** The list of templates. */

import { lazy, Suspense, useState } from "react";
import { getCanvas, getTemplates } from "../../api/resources";
import type { Template, Tier } from "../../api/types";
import { TierBadge } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { SearchField, ShownCount } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { TIERS } from "../../text/labels";
import { countOf } from "../../text/sentences";

import { NewProcess } from "./NewProcess";

const Thumbnail = lazy(() => import("../../graph/Thumbnail"));

export default function TemplatesPage() {
  const { value, problem, reload } = useLoad("templates", getTemplates);
  const [text, setText] = useState("");
  const shown = (value ?? []).filter((template) =>
    `${template.title} ${template.description} ${template.vertical}`
      .toLowerCase()
      .includes(text.trim().toLowerCase()),
  );
  return (
    <>
      <Heading title="Templates">
        <p className="lead">
          Choose a process to start a run. Each has an example, so you can try it without your own
          data.
        </p>
      </Heading>
      <NewProcess />
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what="Loading the templates" />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : value.length === 0 ? (
        <EmptyState icon="templates" title="There are no templates" />
      ) : (
        <>
          <div className="filters">
            <SearchField value={text} onChange={setText} />
            <ShownCount shown={shown.length} all={value.length} />
          </div>
          {shown.length === 0 && <EmptyState icon="search" title="No matching template" />}
          <ul className="gallery" aria-label="Templates">
            {shown.map((template) => (
              <TemplateCard key={template.vertical} template={template} />
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function TemplateCard({ template }: { template: Template }) {
  const { value } = useLoad(`canvas ${template.vertical}`, () => getCanvas(template.vertical));
  const gates = (value?.nodes ?? []).filter((node) => node.gate);
  const worst = TIERS.find((tier): tier is Tier => gates.some((node) => node.tier === tier));
  return (
    <li className="tile">
      <Suspense fallback={<div className="thumbnail" />}>
        <Thumbnail vertical={template.vertical} />
      </Suspense>
      <h2>
        <a href={linkTo("templates", template.vertical)}>
          <Label text={template.title} />
        </a>
      </h2>
      <p>
        <Label text={template.description} maxLength={260} />
      </p>
      <p className="badges">
        {worst !== undefined && <TierBadge tier={worst} />}
        <span className="muted">
          <Icon name="gate" size={14} /> {countOf(template.gates.length, "decision")} ·{" "}
          {countOf(template.steps, "step")}
        </span>
      </p>
    </li>
  );
}
