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
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { loadSession } from "./state/session";
import { applyTheme } from "./state/theme";
import { loadLanguage } from "./text/locale";

applyTheme();
void loadSession();
const root = document.getElementById("root");
if (root !== null)
  void loadLanguage().then(() =>
    createRoot(root).render(
      <StrictMode>
        <App />
      </StrictMode>,
    ),
  );
