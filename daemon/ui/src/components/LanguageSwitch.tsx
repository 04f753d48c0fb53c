/** The language of the page in this browser. Languages stand by their own names. */

import { useState } from "react";
import { toProblem } from "../api/client";
import { common } from "../text/en/common";
import { type Language, LANGUAGES, setLanguage, useLanguage } from "../text/locale";

export function LanguageSwitch() {
  const chosen = useLanguage();
  const [failed, setFailed] = useState("");
  return (
    <fieldset className="themes">
      <legend>{common("language")}</legend>
      {(Object.entries(LANGUAGES) as [Language, string][]).map(([language, name]) => (
        <label key={language} lang={language}>
          <input
            type="radio"
            name="language"
            checked={chosen === language}
            onChange={() =>
              void setLanguage(language).catch((error: unknown) =>
                setFailed(toProblem(error).message),
              )
            }
          />{" "}
          {name}
        </label>
      ))}
      {failed !== "" && <p role="alert">{failed}</p>}
    </fieldset>
  );
}
