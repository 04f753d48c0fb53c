/** Who did something: a member's name, or a machine's with its kind. */

import { useNames } from "../../state/members";
import { Label, plainText } from "../Text";

/** People are shown by name, with the e-mail address as a tooltip. */
export function PersonName({ by, kind }: { by: string; kind?: string | null | undefined }) {
  const nameOf = useNames();
  if (kind === "deadline") return <>The deadline</>;
  if (kind === "service" || kind === "agent")
    return (
      <>
        <Label text={by} maxLength={60} /> ({kind})
      </>
    );
  const name = nameOf(by);
  return (
    <span {...(name === by ? {} : { title: plainText(by) })}>
      <Label text={name} maxLength={60} />
    </span>
  );
}
