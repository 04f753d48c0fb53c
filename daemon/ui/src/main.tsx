/** Entry point. */

import "./styles/fonts.css";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/layout.css";
import "./styles/controls.css";
import "./styles/content.css";
import "./styles/forms.css";
import "./styles/lists.css";
import "./styles/tables.css";
import "./styles/palette.css";
import "./styles/sign-in.css";
import "./styles/gate.css";
import "./styles/run.css";
import "./styles/graph.css";
import "./styles/templates.css";
import "./styles/responsive.css";
import { startTransition, StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { earlyResponses } from "./api/early";
import { App } from "./App";
import { loadSession } from "./state/session";
import { applyTheme } from "./state/theme";
import { loadLanguage } from "./text/locale";

/** What is there within this time is shown at once, without a placeholder that would flicker. */
const UNSEEN_MS = 200;

applyTheme();
const first = Promise.all([loadSession(), earlyResponses()]);
const pause = new Promise((done) => setTimeout(done, UNSEEN_MS));
const root = document.getElementById("root");
if (root !== null)
  void Promise.all([loadLanguage(), Promise.race([first, pause])]).then(() =>
    // In slices, between which the browser hears the reader.
    startTransition(() =>
      createRoot(root).render(
        <StrictMode>
          <App />
        </StrictMode>,
      ),
    ),
  );
