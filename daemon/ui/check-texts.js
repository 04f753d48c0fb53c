/**
 * Finds what readers would see in one language only: literals outside the language files, texts
 * that no page shows, values that only a translation names, and texts that are made when a module
 * is loaded, before the language is known.
 */

import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import ts from "typescript";

const SOURCE = join(import.meta.dirname, "src");
const ENGLISH = join(SOURCE, "text", "en");
// What these attributes and properties hold is read by people.
const READ =
  /^(aria-(label|description|placeholder|roledescription|valuetext)|alt|title|label|placeholder|hint|text|legend|summary|yes|no|what|message|error|about)$/;
const WORD = /\p{L}{2}/u;
const PROSE = /^[“„«]?\p{Lu}\p{Ll}+[ ,.:?!…]|\p{L}{2} \p{L}+ \p{L}{2}|\p{Ll}{2}[.?!…]$/u;
const NAMES = new Set([
  "Penstock",
  "Ctrl K",
  "Ctrl",
  "Enter",
  "Esc",
  "JSON",
  "YAML",
  "BPMN",
  "CEL",
  "SQL",
]);

const wrong = [];
const used = new Set();

function files(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile() && /\.tsx?$/.test(one.name) && !one.name.endsWith(".d.ts"))
    .map((one) => join(one.parentPath, one.name));
}

function parse(path) {
  return ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest, true);
}

function report(file, node, why) {
  const name = relative(SOURCE, file.fileName);
  const { line } = file.getLineAndCharacterOfPosition(node.getStart());
  wrong.push(`${name}:${line + 1}: ${why}`);
}

function said(text) {
  const found = text.trim();
  return WORD.test(found) && !NAMES.has(found);
}

/** Whether people read a literal: a child of an element, or the value of an attribute. */
function isRead(node) {
  let at = node;
  while (passesOn(at)) at = at.parent;
  const { parent } = at;
  if (ts.isJsxAttribute(parent)) return READ.test(parent.name.getText());
  if (!ts.isJsxExpression(parent)) return false;
  return !ts.isJsxAttribute(parent.parent) || READ.test(parent.parent.name.getText());
}

/** Whether the value of a node may be the value of the node around it. */
function passesOn(node) {
  const { parent } = node;
  if (ts.isConditionalExpression(parent)) return parent.condition !== node;
  if (ts.isBinaryExpression(parent))
    return /^(\?\?|\|\||\+)$/.test(parent.operatorToken.getText()) || parent.right === node;
  return ts.isParenthesizedExpression(parent) || ts.isTemplateSpan(parent);
}

function checkLiterals(file) {
  const visit = (node) => {
    if (ts.isJsxText(node) && said(node.text) && !isCode(node))
      report(file, node, `“${node.text.trim()}”`);
    const literal = ts.isStringLiteralLike(node)
      ? node.text
      : ts.isTemplateExpression(node)
        ? [node.head, ...node.templateSpans.map((span) => span.literal)]
            .map((one) => one.text)
            .join("◌")
        : null;
    if (
      literal !== null &&
      !isSilent(node) &&
      said(literal) &&
      (isRead(node) || PROSE.test(literal))
    )
      report(file, node, `“${literal}”`);
    if (ts.isStringLiteralLike(node)) used.add(node.text);
    if (ts.isTemplateExpression(node)) used.add(`${node.head.text}*`);
    ts.forEachChild(node, visit);
  };
  visit(file);
}

/** Commands and names of files are the same in all languages. */
function isCode(node) {
  const { parent } = node;
  return ts.isJsxElement(parent) && /^(code|kbd)$/.test(parent.openingElement.tagName.getText());
}

/** Literals that nobody reads: imports, types, class names, and errors for developers. */
function isSilent(node) {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) return true;
  if (ts.isLiteralTypeNode(parent)) return true;
  if (isWire(node)) return true;
  const attribute = ts.findAncestor(node, ts.isJsxAttribute);
  if (attribute !== undefined && /^(className|d|style)$/.test(attribute.name.getText()))
    return true;
  return ts.isNewExpression(parent) && parent.expression.getText() === "Error";
}

/** Paths, and what the service says and the page compares with. */
function isWire(node) {
  const { parent } = node;
  if (/^[`"](#|https?:|\/)/.test(node.getText())) return true;
  if (ts.isVariableDeclaration(parent))
    return /^[A-Z_]+$/.test(parent.name.getText()) && /^["`]\p{Ll}/u.test(node.getText());
  if (ts.isPropertyAssignment(parent)) return parent.name.getText() === "example";
  return (
    ts.isCallExpression(parent) &&
    /(\.(startsWith|endsWith|includes)|^useLoad)$/.test(parent.expression.getText())
  );
}

/** A text that a module makes when it is loaded stays in one language. */
function checkMoments(file) {
  const texts = new Set();
  for (const statement of file.statements)
    if (
      ts.isImportDeclaration(statement) &&
      /\/text\/en\/|^\.\/en\//.test(statement.moduleSpecifier.text)
    )
      for (const one of statement.importClause?.namedBindings?.elements ?? [])
        texts.add(one.name.text);
  const visit = (node) => {
    if (ts.isFunctionLike(node) || ts.isClassLike(node)) return;
    if (ts.isCallExpression(node) && texts.has(node.expression.getText()))
      report(file, node, "made before the language is known");
    ts.forEachChild(node, visit);
  };
  visit(file);
}

/** The messages of a language file by key; a plural has the texts of all its forms. */
function messagesOf(path) {
  const found = new Map();
  const text = (node) =>
    ts.isStringLiteralLike(node)
      ? [node.text]
      : node.properties.flatMap((one) => text(one.initializer));
  const visit = (node) => {
    if (ts.isObjectLiteralExpression(node)) {
      for (const one of node.properties)
        if (ts.isPropertyAssignment(one)) found.set(one.name.text, text(one.initializer));
      return;
    }
    ts.forEachChild(node, visit);
  };
  visit(parse(path));
  return found;
}

function namesIn(texts) {
  return new Set(texts.flatMap((text) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)));
}

function checkLanguages() {
  for (const file of readdirSync(ENGLISH).filter((one) => one !== "index.ts")) {
    const english = messagesOf(join(ENGLISH, file));
    for (const [key, texts] of english) {
      const known = namesIn([...texts, "{count}"]);
      for (const language of ["de", "es"])
        for (const name of namesIn(messagesOf(join(SOURCE, "text", language, file)).get(key) ?? []))
          if (!known.has(name))
            wrong.push(`text/${language}/${file}: ${key} names {${name}}, and English does not`);
      const [prefix, code] = key.split(".");
      if (!used.has(key) && !(code !== undefined && (used.has(`${prefix}.*`) || used.has(prefix))))
        wrong.push(`text/en/${file}: no page shows ${key}`);
    }
  }
}

for (const path of files(SOURCE)) {
  const name = relative(SOURCE, path);
  if (/^text\/(en|de|es)\//.test(name)) continue;
  const file = parse(path);
  checkLiterals(file);
  checkMoments(file);
}
checkLanguages();
for (const one of wrong) console.error(one);
if (wrong.length > 0) {
  console.error(
    `${wrong.length} texts are not in order; src/text/en/index.ts says how to add one.`,
  );
  process.exit(1);
}
