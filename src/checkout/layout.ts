// How the hosted pages look: one style, one small script, one layout around every page. System fonts, one column, no
// fixed heights; it holds from 320 px up, enlarged to 200 %, in light and dark.

import type { Language } from '../catalog/catalog.ts';
import type { PaymentLink } from '../links/links.ts';
import { type Html, type HtmlPage, html, type Inline, inlineScript, inlineStyle } from '../platform/html.ts';
import { readAccent } from './accent.ts';
import { LANGUAGE_CODES, LANGUAGES, type PayerLocale } from './language.ts';
import { initialOf } from './names.ts';

const MAX_ACCENTS = 1_000;

export const STYLE = inlineStyle(`
:root{color-scheme:light dark;--g:#f3f5f7;--c:#fff;--t:#17202b;--m:#556070;--b:#d3d9e0;--i:#78838f;--k:var(--a);--e:#b3261e;--eg:#fdf0ef;--w:#7a4b00;--wg:#fff6e0;--s:#17643a;--sg:#e9f6ee}
@media(prefers-color-scheme:dark){:root{--g:#12171d;--c:#1c232c;--t:#eef2f6;--m:#aab4c0;--b:#38424e;--i:#8793a1;--k:var(--l);--e:#ffb4ab;--eg:#3a1f1d;--w:#ffd892;--wg:#38290c;--s:#9fe0b8;--sg:#173524}}
*{box-sizing:border-box}
body{margin:0;background:var(--g);color:var(--t);font:1rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
main,footer,.sb{max-width:30rem;margin:0 auto;padding:0 1rem}
main{padding-top:1rem}
h1{font-size:1.375rem;line-height:1.25;margin:0 0 .5rem}
h2{font-size:1rem;margin:0 0 .5rem}
p{margin:0 0 .75rem}
a{color:var(--k)}
bdi{unicode-bidi:isolate}
.sb{max-width:none;background:var(--wg);color:var(--w);text-align:center;padding:.5rem 1rem;font-size:.875rem}
.sb a{color:inherit;display:inline-block;padding:.25rem}
.top{display:flex;gap:.75rem;align-items:center;margin:0 0 1rem}
.top b,.top h1{margin:0;min-width:0;overflow:hidden;display:-webkit-box;-webkit-box-orient:vertical;-webkit-line-clamp:3;line-height:1.3}
.top img,.av{flex:none;width:3rem;height:3rem;border-radius:.75rem;object-fit:contain}
.top img{background:#fff}
.av{display:grid;place-items:center;background:var(--a);color:#fff;font-size:1.375rem;font-weight:600;overflow:hidden}
.card{background:var(--c);border:1px solid var(--b);border-radius:1rem;padding:1.25rem;margin:0 0 1rem}
.sum{font-size:2rem;line-height:1.2;font-weight:700;margin:0}
.m,.h{color:var(--m);font-size:.875rem;margin:0}
.sum+.m{margin-top:.25rem}
form{margin:0}
label,legend{font-weight:600;padding:0}
fieldset{border:0;margin:0 0 1.25rem;padding:0;min-width:0}
.f{margin:0 0 1.25rem}
input:not([type=radio]){display:block;width:100%;min-height:3rem;margin-top:.25rem;padding:.5rem .75rem;font:inherit;font-size:1.125rem;color:inherit;background:var(--c);border:1px solid var(--i);border-radius:.625rem}
[aria-invalid=true]{border:2px solid var(--e)!important}
.o{display:flex;gap:.75rem;align-items:center;min-height:3.25rem;padding:.5rem .75rem;margin-top:.5rem;border:1px solid var(--i);border-radius:.625rem;font-weight:400;cursor:pointer}
.o:has(:checked){border-color:var(--k);box-shadow:0 0 0 1px var(--k)}
.o:has(:disabled){opacity:1;color:var(--m);cursor:default;border-style:dashed}
.o input{flex:none;width:1.25rem;height:1.25rem;margin:0;accent-color:var(--k)}
.o span{min-width:0}
.o small{display:block;color:var(--m);font-size:.8125rem}
button,.btn{display:flex;align-items:center;justify-content:center;width:100%;min-height:3.25rem;padding:.625rem 1rem;border:1px solid var(--a);border-radius:.625rem;background:var(--a);color:#fff;font:inherit;font-size:1.125rem;font-weight:600;text-align:center;text-decoration:none;cursor:pointer;margin:0 0 .75rem}
.btn.q,button.q{background:transparent;color:var(--k);border-color:var(--k)}
button[disabled]{opacity:.65}
:focus-visible{outline:3px solid var(--k);outline-offset:2px}
.er{color:var(--e);margin:.25rem 0 0;font-weight:600;font-size:.9375rem}
.box{border-radius:.75rem;padding:.75rem 1rem;margin:0 0 1rem}
.box p:last-child,.box ul:last-child{margin:0}
.bad{background:var(--eg);color:var(--e);border:1px solid var(--e)}
.bad a{color:inherit}
.warn{background:var(--wg);color:var(--w);border:1px solid var(--w)}
.good{background:var(--sg);color:var(--s);border:1px solid var(--s)}
.ic{display:grid;place-items:center;width:3.5rem;height:3.5rem;border-radius:50%;font-size:1.75rem;font-weight:700;margin:0 0 .75rem;border:2px solid currentColor}
.ic.s{color:var(--s);background:var(--sg)}
.ic.e{color:var(--e);background:var(--eg)}
.ic.w{color:var(--w);background:var(--wg)}
.ph{width:2.125rem;height:3.375rem;border:3px solid var(--k);border-radius:.5rem;margin:0 0 .75rem;position:relative}
.ph::after{content:"";position:absolute;left:50%;bottom:.1875rem;width:.375rem;height:.375rem;margin-left:-.1875rem;border-radius:50%;background:var(--k)}
ol{margin:0 0 1rem;padding:0;list-style:none;counter-reset:n}
ol li{counter-increment:n;display:flex;gap:.75rem;margin:0 0 .625rem}
ol li::before{content:counter(n);flex:none;width:1.625rem;height:1.625rem;border-radius:50%;display:grid;place-items:center;font-size:.875rem;font-weight:700;color:var(--k);border:1.5px solid currentColor}
ul{margin:0;padding-left:1.25rem}
dl{margin:0 0 1rem}
dl div{display:flex;flex-wrap:wrap;gap:.125rem 1rem;justify-content:space-between;padding:.5rem 0;border-bottom:1px solid var(--b)}
dt{color:var(--m)}
dd{margin:0;font-weight:600}
.big dd{font-size:1.25rem;letter-spacing:.02em}
details{margin:0 0 1rem}
summary{min-height:2.5rem;padding:.5rem 0;cursor:pointer;color:var(--k);font-weight:600}
footer{color:var(--m);font-size:.875rem;padding-bottom:2rem}
footer p{margin:0 0 .5rem}
nav a,.lk{display:inline-block;padding:.375rem .75rem .375rem 0;min-height:2rem}
nav [aria-current]{font-weight:700;color:inherit;text-decoration:none}
.qr{display:block;width:11rem;max-width:100%;margin:0 auto .75rem;border-radius:.5rem}
.cardpage{text-align:center}
.cardpage .qr{width:20rem}
.cardpage .top{justify-content:center}
@media print{:root{color-scheme:light;--g:#fff;--c:#fff;--t:#000;--m:#333;--b:#999;--k:#000}.sb,nav,button,.btn,.np{display:none!important}.card{border:0}}
`);

/**
 * What scripts add, none of which is needed: a form is not sent twice by a hasty finger, the number chooses its
 * operator until the payer does, a waiting page looks for news, a paid one goes back to the shop.
 */
export const SCRIPT = inlineScript(`
(function(d,w){
var b=d.body.dataset,q=function(s){return d.querySelector(s)},t=0,n=5;
d.addEventListener('submit',function(e){var f=e.target;if(f.dataset.s){e.preventDefault();return}if(f.method=='post'){f.dataset.s=1;var x=f.querySelector('button');setTimeout(function(){x&&(x.disabled=true)},0)}});
w.addEventListener('pageshow',function(){d.querySelectorAll('form[data-s]').forEach(function(f){delete f.dataset.s;f.querySelector('button').disabled=false})});
var p=q('#phone'),own=q('[name=method]:checked');
if(p&&b.dial){d.querySelectorAll('[name=method]').forEach(function(r){r.addEventListener('change',function(){own=r})});
p.addEventListener('input',function(){if(own&&!own.dataset.auto)return;var v=p.value.replace(/[^0-9+]/g,'').replace(/^(\\+|00)/,''),best='',hit;
if(v.indexOf(b.dial)==0)v=v.slice(b.dial.length);else if(b.trunk&&v.indexOf(b.trunk)==0)v=v.slice(b.trunk.length);
d.querySelectorAll('[name=method]:not(:disabled)').forEach(function(r){(r.dataset.p||'').split(' ').forEach(function(x){if(x&&v.indexOf(x)==0&&x.length>best.length){best=x;hit=r}})});
if(hit&&!hit.checked){hit.checked=true;hit.dataset.auto=1;own=hit}})}
var l=q('#live');
if(b.stage&&l&&w.fetch){l.textContent=l.dataset.t;
var go=function(){clearTimeout(t);t=setTimeout(ask,n*500);if(n<16)n++},ask=function(){if(d.hidden)return;
fetch(b.url+'/status',{cache:'no-store'}).then(function(r){return r.json()}).then(function(j){if(j.stage!=b.stage)location.replace(b.url+b.q);else go()},go)};
d.addEventListener('visibilitychange',function(){clearTimeout(t);if(!d.hidden)ask()});go()}
var a=q('a[data-go]'),y=q('#stay');
if(a&&y){l.textContent=l.dataset.t;y.hidden=false;t=setTimeout(function(){location.replace(a.href)},5000);
y.addEventListener('click',function(){clearTimeout(t);y.hidden=true;l.textContent=''})}
var r=q('#print');if(r){r.hidden=false;r.addEventListener('click',function(){w.print()})}
})(document,window)
`);

const accents = new Map<string, Inline>();

function accentStyle(colour: string | null): Inline {
  const key = colour ?? '';
  const known = accents.get(key);
  if (known) return known;
  const { onLight, onDark } = readAccent(colour);
  const style = inlineStyle(`:root{--a:${onLight};--l:${onDark}}`);
  if (accents.size >= MAX_ACCENTS) accents.clear();
  accents.set(key, style);
  return style;
}

/** What every page of one request shares. */
export type CheckoutLayout = {
  locale: PayerLocale;
  brand: string;
  /** Where the test phone of this payer is; null outside sandbox mode. */
  phoneUrl: string | null;
  /** The page's own address without its language, for the links to the other languages. */
  address: string;
  accent: string | null;
};

export type CheckoutContent = {
  title: string;
  status?: number;
  body: Html;
  attributes?: Html;
  head?: Html;
  /** The payment this page is about, for whoever has a question. */
  help?: { business: string; reference: string } | null;
  /** Pages that never wait nor send anything do without. */
  script?: false;
};

export function layoutPage(layout: CheckoutLayout, content: CheckoutContent): HtmlPage {
  const { t, language } = layout.locale;
  const { help } = content;
  return {
    language,
    title: content.title,
    styles: [STYLE, accentStyle(layout.accent)],
    scripts: content.script === false ? [] : [SCRIPT],
    ...(content.status === undefined ? {} : { status: content.status }),
    ...(content.head === undefined ? {} : { head: content.head }),
    ...(content.attributes === undefined ? {} : { attributes: content.attributes }),
    body: html`${
      layout.phoneUrl !== null &&
      html`<aside class="sb" aria-label="Sandbox">${t.sandbox} <a href="${layout.phoneUrl}" target="_blank" rel="noopener">${t.openPhone}</a></aside>`
    }<main>${content.body}</main><footer>${
      help && html`<p>${t.help(help.business)}<br><span class="np">${t.reference}: </span>${help.reference}</p>`
    }<p>${t.neverEnterPin}</p><nav aria-label="${t.language}">${languageLinks(layout)}</nav><p>${t.poweredBy(layout.brand)}</p></footer>`,
  };
}

function languageLinks(layout: CheckoutLayout): Html[] {
  const joint = layout.address.includes('?') ? '&' : '?';
  return LANGUAGE_CODES.map((code: Language) => {
    const current = code === layout.locale.language;
    return html`<a href="${layout.address}${joint}lang=${code}" lang="${code}" hreflang="${code}"${current && html` aria-current="true"`}>${LANGUAGES[code].name}</a> `;
  });
}

/** Who is paid: logo and name, on top of every page of a link; `heading` where that says what the page is for. */
export function businessHead(link: PaymentLink | null, business: string, heading?: string): Html {
  const picture = link?.logo_hash
    ? html`<img src="/logos/${link.logo_hash}.webp" alt="" width="48" height="48">`
    : html`<span class="av" aria-hidden="true">${initialOf(business)}</span>`;
  const name = heading === undefined ? html`<b><bdi>${business}</bdi></b>` : html`<h1><bdi>${heading}</bdi></h1>`;
  return html`<div class="top">${picture}${name}</div>`;
}

/** The amount, and what it is for. */
export function sumOf(amount: string, item: string | null): Html {
  return html`<p class="sum">${amount}</p>${item !== null && html`<p class="m"><bdi>${item}</bdi></p>`}`;
}

export function steps(lines: readonly string[]): Html {
  return html`<ol>${lines.map((line) => html`<li><span>${line}</span></li>`)}</ol>`;
}
