// Markdown becomes the markup of our pages, and HTML in a text stays text.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { printHtml } from '../platform/html.ts';
import { anchorOf, headingsOf, renderMarkdown, sectionsOf, titleOf } from './markdown.ts';

const DOCS = resolve(import.meta.dirname, '../../docs');
/** Without the line breaks that separate blocks. */
const render = (text: string) => printHtml(renderMarkdown(text)).replaceAll(/(?<=>)\n|\n(?=<)/g, '');
/** Every tag that the renderer may write. */
const OWN_TAGS =
  /<\/?(?:h[1-4]|p|ul|ol|li|pre|code|strong|em|a|blockquote|hr|br|del|div|table|thead|tbody|tr|th|td|button|svg|rect|path|span)\b[^<>]*>/g;

const COPY = /<button type="button" class="copy" aria-label="Copy" hidden>.*?<\/button>/g;
const code = (content: string) => `<div class="code">COPY<pre tabindex="0"><code>${content}</code></pre></div>`;

describe('markdown', () => {
  const CASES: [about: string, text: string, markup: string][] = [
    ['headings with a name', '## Test numbers', '<h2 id="test-numbers">Test numbers</h2>'],
    ['paragraphs over several lines', 'one\ntwo\n\nthree', '<p>one\ntwo</p><p>three</p>'],
    [
      'code, bold and emphasis',
      '`a_b` **c** _d_ *e*',
      '<p><code>a_b</code> <strong>c</strong> <em>d</em> <em>e</em></p>',
    ],
    ['no emphasis inside names', 'third_party_reference_1', '<p>third_party_reference_1</p>'],
    [
      'links',
      '[a](b.md) <https://x.example/>',
      '<p><a href="b.md">a</a> <a href="https://x.example/">https://x.example/</a></p>',
    ],
    [
      'fenced code as it stands',
      '```sh\n# <b> & **c**\n```',
      code('<span class="hl-comment"># &lt;b&gt; &amp; **c**</span>'),
    ],
    ['code in a language that is not ours', '```tree\n<b>\n```', code('&#60;b&#62;')],
    ['comments are left out', 'a\n<!-- settings -->\n\nb', '<p>a</p><p>b</p>'],
    ['lists', '- a\n  b\n- c', '<ul><li>a\nb</li><li>c</li></ul>'],
    ['numbered lists', '1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
    ['nested lists', '- a\n  - b\n- c', '<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>'],
    ['task lists', '- [ ] a\n- [x] b', '<ul><li>☐ a</li><li>☑ b</li></ul>'],
    ['addresses in running text stay text', 'https://x.example/', '<p>https://x.example/</p>'],
    ['HTML as text', 'a <b>c</b>', '<p>a &lt;b&gt;c&lt;/b&gt;</p>'],
    ['pictures that are not there as nothing', '![a](b.png)', '<p></p>'],
    ['quotes', '> a\n> b', '<blockquote><p>a\nb</p></blockquote>'],
    ['a rule', '---', '<hr>'],
  ];
  for (const [about, text, markup] of CASES)
    test(about, () => assert.equal(render(text).replaceAll(COPY, 'COPY'), markup));

  test('tables, with bars inside cells', () => {
    const markup = render('| a | b |\n|---|---|\n| `x\\|y` | |');
    assert.match(markup, /<th scope="col">a<\/th><th scope="col">b<\/th>/);
    assert.match(
      markup,
      /<td data-label="a"><div><code>x\|y<\/code><\/div><\/td><td data-label="b"><div><\/div><\/td>/,
    );
  });

  test('links that are no addresses stay text', () => {
    for (const target of [
      'javascript:alert(1)',
      'JavaScript:alert(1)',
      'javascript://%0aalert(1)',
      '<java\tscript:alert(1)>',
      '<\u0001javascript:alert(1)>',
      'data:text/html,x',
      'vbscript:x',
      'file:///etc/passwd',
      '"onclick=x',
    ])
      assert.ok(!render(`[x](${target})`).includes('<a '), target);
    for (const target of ['a.md', './a.md#b', '/docs', '#b', '?q=1', 'https://x.example/', 'mailto:a@x.example'])
      assert.ok(render(`[x](${target})`).includes('<a href="'), target);
  });

  test('only our own markup comes out, whatever a text contains', () => {
    const piece = fc.oneof(
      fc.string(),
      fc.constantFrom(
        '<script>',
        '"',
        "'",
        '&',
        '[a](',
        ')',
        '`',
        '**',
        '_',
        '\n',
        '| ',
        '- ',
        '```',
        '# ',
        '<img src=x onerror=y>',
        '> ',
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), (parts) => {
        const left = render(parts.join('')).replaceAll(OWN_TAGS, '');
        assert.ok(!/[<>]/.test(left), left);
      }),
    );
  });

  const TABS =
    '# A\n\n<!-- tabs -->\n\n### Python (Flask)\n\n```python\n1\n```\n\n### Go\n\ntwo\n\n<!-- /tabs -->\n\n## B `c`\n';

  test('headings between the comments of tabs are tabs, the first one open', () => {
    const markup = render(TABS);
    assert.match(markup, /<input type="radio" name="code-1" id="code-1-tab-1" data-language="python" checked>/);
    assert.match(markup, /<label for="code-1-tab-2">Go<\/label>/);
    assert.match(markup, /<div class="panel"><h3 id="go" class="visually-hidden">Go<\/h3><p>two<\/p><\/div>/);
  });

  test('titles, headings, sections and names', () => {
    assert.equal(titleOf('# A *title*\n\ntext'), 'A title');
    assert.deepEqual(headingsOf(TABS), [
      { depth: 1, text: 'A', anchor: 'a' },
      { depth: 2, text: 'B c', anchor: 'b-c' },
    ]);
    assert.deepEqual(
      sectionsOf(TABS).map(({ heading, text }) => [heading?.anchor, text]),
      [
        [undefined, ''],
        ['a', ''],
        ['python-flask', '1'],
        ['go', 'two'],
        ['b-c', ''],
      ],
    );
    assert.equal(anchorOf('POST /api/v3/get-unified-balance'), 'post-api-v3-get-unified-balance');
  });

  test('every guide is written in what the renderer knows', () => {
    for (const name of readdirSync(DOCS).filter((file) => file.endsWith('.md'))) {
      const text = readFileSync(resolve(DOCS, name), 'utf8');
      const markup = render(text).replaceAll(/<(pre|code)\b[\s\S]*?<\/\1>/g, '');
      assert.ok(!/\*\*|`|\]\(/.test(markup), `${name}: ${/.{0,60}(?:\*\*|`|\]\().{0,60}/.exec(markup)?.[0]}`);
    }
  });
});
