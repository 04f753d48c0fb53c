"""How the documentation looks beyond the style sheet of the page, whose colours it takes."""

from __future__ import annotations

STYLE = """\
.docs{display:grid;grid-template-columns:17rem minmax(0,1fr);gap:2rem;max-width:84rem;margin:0 auto;padding:0 1.5rem}
.docs>nav{position:sticky;top:3.75rem;align-self:start;max-height:calc(100vh - 3.75rem);overflow:auto;padding:1.5rem 0}
.docs nav li{padding-left:1rem;font-size:.8125rem}
.docs nav summary{padding:.2rem 0;cursor:pointer;font-weight:600}
.docs nav a{display:block;padding:.2rem 0;color:var(--text);text-decoration:none}
.docs nav a:hover{text-decoration:underline}
.docs main{width:auto;max-width:none;min-width:0;margin:0;padding:1.5rem 0 6rem}
.docs h2{font-size:1.375rem;margin:3rem 0 .5rem}
.docs h3{font-size:1.0625rem;margin:0 0 .25rem;overflow-wrap:anywhere}
.docs h4{font-size:.8125rem;margin:1rem 0 .25rem;color:var(--muted)}
.docs article{margin:1rem 0;padding:1.25rem;background:var(--surface);border:1px solid var(--line);
border-radius:var(--round)}
.docs p{max-width:46rem;margin:.25rem 0}
.docs table{border-collapse:collapse;margin:.5rem 0;width:100%;font-size:.875rem}
.docs td,.docs th{text-align:left;vertical-align:top;padding:.3rem 1rem .3rem 0;border-bottom:1px solid var(--line);
overflow-wrap:anywhere}
.docs td:first-child{min-width:8rem}
.docs .in{white-space:nowrap}
.docs details>pre{margin-top:.5rem}
.docs article summary{cursor:pointer;padding:.25rem 0;font-size:.875rem}
.docs .verb{display:inline-block;min-width:3.75rem;font-weight:650;color:var(--accent)}
.docs .calls{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(22rem,100%),1fr));gap:0 1rem}
@media (max-width:60rem){.docs{grid-template-columns:minmax(0,1fr);gap:0;padding:0 .75rem}
.docs>nav{position:static;max-height:none;padding-bottom:0}}
"""
