/** Two versions of a template, or a version and the draft, beside each other. */

import { get, getAll } from "../../api/client";
import type { TemplateVersion, TemplateVersionDetail } from "../../api/types";
import { LoadError, Loading } from "../../components/Feedback";
import { Field } from "../../components/Field";
import { Breadcrumbs, Heading } from "../../components/Heading";
import { linkTo, navigate, useRoute } from "../../state/router";
import { useLoad } from "../../state/useLoad";
import { Comparison } from "./editor/Comparison";
import type { Draft } from "./editor/draft/document";
import { pathOf } from "./editor/draft/useDraft";
import { templates as t } from "../../text/en/templates";

const DRAFT = "draft";
const VERSIONS_MAX = 1_000;

export default function ComparePage({ vertical }: { vertical: string }) {
  const { value, problem, reload } = useLoad(`compare ${vertical}`, () =>
    getAll<TemplateVersion>(`${pathOf(vertical, "versions")}/?limit=200`, VERSIONS_MAX),
  );
  if (value !== null) return <Compared vertical={vertical} versions={value} />;
  return problem === null ? <Loading rows={6} /> : <LoadError problem={problem} retry={reload} />;
}

function Compared({ vertical, versions }: { vertical: string; versions: TemplateVersion[] }) {
  const { query } = useRoute();
  const to = query.get("to") ?? String(versions[0]?.version ?? DRAFT);
  const from = query.get("from") ?? String(versions[to === DRAFT ? 0 : 1]?.version ?? to);
  const { value, problem, reload } = useLoad(`compare ${vertical} ${from} ${to}`, async () => ({
    before: await documentOf(vertical, from),
    after: await documentOf(vertical, to),
  }));
  const options = [
    ...versions.map((one) => ({ value: String(one.version), name: titleOf(one.version) })),
    { value: DRAFT, name: titleOf(DRAFT) },
  ];
  const show = (one: string, other: string) =>
    navigate(`${linkTo("templates", vertical, "compare")}?from=${one}&to=${other}`);
  return (
    <article className="editor">
      <Breadcrumbs href={linkTo("templates", vertical)} text={vertical} />
      <Heading title={t("compare")} />
      <div className="toolbar">
        <Field
          label={t("before")}
          value={from}
          options={options}
          onChange={(one) => show(one, to)}
          required
        />
        <Field
          label={t("after")}
          value={to}
          options={options}
          onChange={(other) => show(from, other)}
          required
        />
      </div>
      {problem !== null && <LoadError problem={problem} retry={reload} />}
      {value !== null && (
        <Comparison
          before={{ title: t("beforeIs", { version: titleOf(from) }), document: value.before }}
          after={{ title: t("afterIs", { version: titleOf(to) }), document: value.after }}
        />
      )}
    </article>
  );
}

function titleOf(version: string | number): string {
  return version === DRAFT ? t("theDraft") : t("version", { version: String(version) });
}

async function documentOf(vertical: string, version: string): Promise<Draft> {
  if (version === DRAFT) return get<Draft>(pathOf(vertical, "draft"));
  const found = await get<TemplateVersionDetail>(pathOf(vertical, "versions", version));
  return found.document as unknown as Draft;
}
