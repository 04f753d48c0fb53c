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
import { fetchEarly } from "./api/early";
import { App } from "./App";
import { FIRST_INBOX } from "./pages/inbox/useInbox";
import { FIRST_RUNS } from "./pages/runs/RunFilters";
import { loadSession } from "./state/session";
import { applyTheme } from "./state/theme";
import { loadLanguage } from "./text/locale";

applyTheme();
if (/^(#\/?)?$/.test(location.hash)) fetchEarly(FIRST_INBOX);
else if (location.hash === "#/runs") fetchEarly(FIRST_RUNS);
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
