// Splits TypeScript and JavaScript into code, texts and comments, so that a rule can look at one of them. Not a parser: it
// knows strings, templates with values, regular expressions and comments, and reads our formatted sources correctly.

export type SourceText = {
  /** The source with comments removed and every string emptied. */
  code: string;
  /** The content of strings and the static parts of templates, one per line. */
  texts: string;
  comments: string;
};

const COMMENT = /\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
const STRING = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"/y;
const REGEX = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\[\n])+\/[a-z]*/y;
/** A slash after one of these begins a regular expression; after anything else it divides. */
const BEFORE_REGEX = /(?:^|[(,=:[!&|?{};+>]|\breturn|\bcase|\btypeof)\s*$/;
const TEMPLATE_PART = /(?:\\[\s\S]|[^\\`$]|\$(?!\{))*/y;

export function splitSource(source: string): SourceText {
  const comments: string[] = [];
  const texts: string[] = [];
  let code = '';
  let at = 0;
  /** For each open template, the number of braces open inside its current value. */
  const templates: number[] = [];

  function take(pattern: RegExp): string | null {
    pattern.lastIndex = at;
    const found = pattern.exec(source)?.[0];
    if (found === undefined) return null;
    at += found.length;
    return found;
  }

  /** Reads the static text of a template up to its next value or its end. */
  function readTemplate(): void {
    texts.push(take(TEMPLATE_PART) ?? '');
    if (source[at] === '`') {
      templates.pop();
      code += '`';
      at += 1;
    } else {
      code += '${';
      at += 2;
    }
  }

  while (at < source.length) {
    const character = source[at] ?? '';
    const text = character === "'" || character === '"' ? take(STRING) : null;
    const comment = character === '/' && text === null ? take(COMMENT) : null;
    if (text !== null) {
      texts.push(text.slice(1, -1));
      code += "''";
    } else if (comment !== null) comments.push(comment);
    else if (character === '/' && BEFORE_REGEX.test(code.slice(-20)) && take(REGEX) !== null) code += '/./';
    else {
      code += character;
      at += 1;
      const depth = templates.at(-1);
      if (character === '`') {
        templates.push(0);
        readTemplate();
      } else if (character === '{' && depth !== undefined) templates[templates.length - 1] = depth + 1;
      else if (character === '}' && depth !== undefined && depth > 0) templates[templates.length - 1] = depth - 1;
      else if (character === '}' && depth === 0) readTemplate();
    }
  }
  return { code, texts: texts.join('\n'), comments: comments.join('\n') };
}
