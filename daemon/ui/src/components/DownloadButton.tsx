/** A button that downloads a response as a file. */

import { useState } from "react";
import { type Problem, toProblem } from "../api/client";
import { download } from "../api/download";
import { common as t } from "../text/en/common";

export function DownloadButton({ path, name, text }: { path: string; name: string; text: string }) {
  const [state, setState] = useState<"" | "busy" | Problem>("");
  const save = () => {
    setState("busy");
    download(path, name).then(
      () => setState(""),
      (error: unknown) => setState(toProblem(error)),
    );
  };
  return (
    <>
      <button type="button" className="button" disabled={state === "busy"} onClick={save}>
        {state === "busy" ? t("downloading") : text}
      </button>{" "}
      {typeof state === "object" && <p role="alert">{state.message}</p>}
    </>
  );
}
