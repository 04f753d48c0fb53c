/** An id: it counts when the field is left, since every letter of it would be one. */

import { useEffect, useState } from "react";
import { Field } from "../../../../components/Field";
import { editor as t } from "../../../../text/en/editor";

const FORM = /^[a-z][a-z0-9-]{0,63}$/;

export function NameField({
  label,
  value,
  isTaken,
  takenText,
  onChange,
}: {
  label: string;
  value: string;
  isTaken: (id: string) => boolean;
  takenText: string;
  onChange: (id: string) => void;
}) {
  const [id, setId] = useState(value);
  useEffect(() => setId(value), [value]);
  const wrong = id !== value && isTaken(id) ? takenText : FORM.test(id) ? "" : t("idForm");
  return (
    <div
      onBlur={() => {
        if (wrong === "" && id !== value) onChange(id);
      }}
    >
      <Field label={label} value={id} onChange={setId} error={wrong} required />
    </div>
  );
}
