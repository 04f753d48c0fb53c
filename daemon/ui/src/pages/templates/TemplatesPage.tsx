/** The gallery of templates: those that the company uses first, then all others. */

import { lazy, Suspense, useState } from "react";
import { getCanvas } from "../../api/resources";
import type { Template, Tier } from "../../api/types";
import { TierBadge } from "../../components/Badges";
import { EmptyState, LoadError, Loading } from "../../components/Feedback";
import { Filter, SearchField, ShownCount } from "../../components/Filter";
import { Heading } from "../../components/Heading";
import { Icon } from "../../components/Icon";
import { Label } from "../../components/Text";
import { linkTo } from "../../state/router";
import { useAccount } from "../../state/session";
import { getUsage, type Usage } from "../../state/usage";
import { useLoad } from "../../state/useLoad";
import { TIERS } from "../../text/labels";
import { library } from "../../text/en/library";
import { LibraryPart, packsOf } from "./Library";
import { NewProcess } from "./NewProcess";
import { UseTemplate } from "./UseTemplate";
import { templates as t } from "../../text/en/templates";

const Thumbnail = lazy(() => import("../../graph/Thumbnail"));

export default function TemplatesPage() {
  const { company } = useAccount();
  const { value, problem, reload } = useLoad(`usage ${company.id}`, () => getUsage(company.id));
  return (
    <>
      <Heading title={t("templates")}>
        <p className="lead">{t("lead")}</p>
      </Heading>
      <NewProcess />
      {value === null ? (
        problem === null ? (
          <Loading rows={6} what={t("loadingAll")} />
        ) : (
          <LoadError problem={problem} retry={reload} />
        )
      ) : value.templates.length === 0 ? (
        <EmptyState icon="templates" title={t("none")} />
      ) : (
        <Gallery usage={value} onChanged={reload} />
      )}
    </>
  );
}

function Gallery({ usage, onChanged }: { usage: Usage; onChanged: () => void }) {
  const [text, setText] = useState("");
  const [pack, setPack] = useState("");
  const packs = packsOf(usage.templates);
  const wanted = text.trim().toLowerCase();
  const shown = usage.templates.filter(
    (template) =>
      (pack === "" || template.pack === pack) &&
      `${template.title} ${template.description} ${template.vertical}`
        .toLowerCase()
        .includes(wanted),
  );
  const inUse = shown.filter((template) => usage.used.has(template.vertical));
  const others = shown.filter((template) => !usage.used.has(template.vertical));
  return (
    <>
      <div className="filters">
        <SearchField value={text} onChange={setText} />
        <Filter
          label={library("pack")}
          value={pack}
          onChange={setPack}
          options={[["", library("all")], ...packs]}
        />
        <ShownCount shown={shown.length} all={usage.templates.length} />
      </div>
      {shown.length === 0 && <EmptyState icon="search" title={t("noMatch")} />}
      <Tiles name={t("inUse")} templates={inUse} usage={usage} onChanged={onChanged} />
      {packs.map(([id, name]) => {
        const templates = others.filter((template) => template.pack === id);
        return templates.length === 0 ? null : (
          <LibraryPart
            key={id}
            name={name}
            templates={templates}
            chosen={usage.chosen}
            onChanged={onChanged}
          />
        );
      })}
      <Tiles
        name={t("gallery")}
        templates={others.filter((template) => template.pack === null)}
        usage={usage}
        onChanged={onChanged}
      />
    </>
  );
}

function Tiles({
  name,
  templates,
  usage,
  onChanged,
}: {
  name: string;
  templates: Template[];
  usage: Usage;
  onChanged: () => void;
}) {
  if (templates.length === 0) return null;
  return (
    <section className="gallery-part">
      <h2>{name}</h2>
      <ul className="gallery" aria-label={name}>
        {templates.map((template) => (
          <TemplateCard
            key={template.vertical}
            template={template}
            chosen={usage.chosen.includes(template.vertical)}
            onChanged={onChanged}
          />
        ))}
      </ul>
    </section>
  );
}

function TemplateCard({
  template,
  chosen,
  onChanged,
}: {
  template: Template;
  chosen: boolean;
  onChanged: () => void;
}) {
  const { value } = useLoad(`canvas ${template.vertical}`, () => getCanvas(template.vertical));
  const gates = (value?.nodes ?? []).filter((node) => node.gate);
  const worst = TIERS.find((tier): tier is Tier => gates.some((node) => node.tier === tier));
  return (
    <li className="tile">
      <Suspense fallback={<div className="thumbnail" />}>
        <Thumbnail vertical={template.vertical} />
      </Suspense>
      <div className="tile-title">
        <h3>
          <a href={linkTo("templates", template.vertical)}>
            <Label text={template.title} />
          </a>
        </h3>
        {!template.own && (
          <UseTemplate
            vertical={template.vertical}
            title={template.title}
            chosen={chosen}
            onChanged={onChanged}
          />
        )}
      </div>
      <p>
        <Label text={template.description} maxLength={260} />
      </p>
      <p className="badges">
        {worst !== undefined && <TierBadge tier={worst} />}
        {template.own && <span className="badge">{t("yourOwn")}</span>}
        <span className="muted">
          <Icon name="gate" size={14} /> {t("decisions", { count: template.gates.length })} ·{" "}
          {t("steps", { count: template.steps })}
        </span>
      </p>
    </li>
  );
}
