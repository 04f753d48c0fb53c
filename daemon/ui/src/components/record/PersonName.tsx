/** Who did something: a member's name, or a machine's with its kind. */

import { useNames } from "../../state/members";
import { labels } from "../../text/en/labels";
import { Label, plainText } from "../Text";
import { common as t } from "../../text/en/common";

interface Props {
  by: string;
  kind?: string | null | undefined;
  /** In whose place they acted. */
  giver?: string | null | undefined;
}

/** People are shown by name, with the e-mail address as a tooltip. */
export function PersonName({ by, kind, giver }: Props) {
  const nameOf = useNames();
  if (giver != null)
    return (
      <>
        {t("forGiver", {
          who: <PersonName by={by} kind={kind} />,
          giver: <PersonName by={giver} />,
        })}
      </>
    );
  if (kind === "deadline") return <>{t("theDeadline")}</>;
  if (kind === "service" || kind === "agent")
    return (
      <>
        <Label text={by} maxLength={60} /> ({labels(`machine.${kind}`)})
      </>
    );
  const name = nameOf(by);
  return (
    <span {...(name === by ? {} : { title: plainText(by) })}>
      <Label text={name} maxLength={60} />
    </span>
  );
}
