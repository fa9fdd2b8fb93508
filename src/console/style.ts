// How the console looks: the same colours and letters as the hosted pages. System fonts, one stylesheet, light and dark;
// a menu beside the page on a desktop, above it on a phone, where tables turn into cards.

import { inlineStyle } from '../platform/html.ts';

export const STYLE = inlineStyle(`
:root{color-scheme:light dark;--g:#f3f5f7;--c:#fff;--t:#17202b;--m:#556070;--b:#d3d9e0;--i:#78838f;--a:#0b6157;--k:#0b6157;--h:#e6f1ef;--e:#b3261e;--eg:#fdf0ef;--w:#7a4b00;--wg:#fff6e0;--s:#17643a;--sg:#e9f6ee;--n:#2f4a6d;--ng:#eaf0f8;--f:#ffc940;--ft:#2b1d00}
@media(prefers-color-scheme:dark){:root{--g:#12171d;--c:#1c232c;--t:#eef2f6;--m:#aab4c0;--b:#38424e;--i:#8793a1;--k:#7fd0c2;--h:#1b3531;--e:#ffb4ab;--eg:#3a1f1d;--w:#ffd892;--wg:#38290c;--s:#9fe0b8;--sg:#173524;--n:#b4cdf0;--ng:#1d2a3b;--f:#8a6410;--ft:#fff}}
*{box-sizing:border-box}
body{margin:0;background:var(--g);color:var(--t);font:.9375rem/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere;-webkit-text-size-adjust:100%}
.skip{position:absolute;left:-99rem}.skip:focus{left:.5rem;top:.5rem;background:var(--c);padding:.5rem;z-index:9}
.sb{background:repeating-linear-gradient(-45deg,var(--f) 0 1.25rem,color-mix(in srgb,var(--f) 86%,#000) 1.25rem 2.5rem);color:var(--ft);padding:.375rem 1rem;text-align:center;font-weight:700;font-size:.875rem}
.sb span{background:var(--f);padding:.125rem .5rem;border-radius:.25rem}
.sb a{color:inherit}
header.top{display:flex;flex-wrap:wrap;gap:.5rem 1rem;align-items:center;padding:.625rem 1rem;background:var(--c);border-bottom:1px solid var(--b)}
.brand{font-weight:700;color:var(--t);text-decoration:none;font-size:1.0625rem;display:flex;gap:.5rem;align-items:center}
.brand i{display:grid;place-items:center;width:1.75rem;height:1.75rem;border-radius:.5rem;background:var(--a);color:#fff;font-style:normal}
header.top form{margin:0}
.find{flex:1 1 14rem;max-width:34rem;position:relative}
.find input{margin:0;padding-right:3.75rem}
kbd{position:absolute;right:.5rem;top:.5rem;border:1px solid var(--b);border-radius:.25rem;padding:0 .375rem;font-size:.75rem;color:var(--m);background:var(--g)}
.who{margin-left:auto;display:flex;gap:.75rem;align-items:center;font-size:.875rem;flex-wrap:wrap}
.who select{width:auto;min-height:2rem;margin:0;padding:.125rem .375rem;max-width:13rem}
.who form{display:flex;gap:.375rem}
.shell{display:grid;grid-template-columns:14.5rem minmax(0,1fr);max-width:90rem;margin:0 auto}
nav.menu{padding:1rem .75rem}
nav.menu ul{list-style:none;margin:0;padding:0}
nav.menu a{display:block;padding:.4375rem .75rem;border-radius:.5rem;color:var(--t);text-decoration:none}
nav.menu a:hover{background:var(--h)}
nav.menu [aria-current]{background:var(--h);color:var(--k);font-weight:700}
nav.menu .sep{font-size:.75rem;color:var(--m);text-transform:uppercase;letter-spacing:.05em;padding:1rem .75rem .25rem;font-weight:600}
.badge{display:inline-block;min-width:1.25rem;text-align:center;background:var(--e);color:var(--c);border-radius:1rem;font-size:.75rem;font-weight:700;padding:0 .375rem}
main{padding:1.25rem 1.25rem 3rem;min-width:0}
.alone main{max-width:30rem;margin:1.5rem auto}
.alone main.wide{max-width:60rem}
h1{font-size:1.5rem;line-height:1.25;margin:0 0 .25rem}
h2{font-size:1.0625rem;margin:0 0 .75rem}
h3{font-size:.9375rem;margin:1rem 0 .375rem}
p{margin:0 0 .75rem}
a{color:var(--k)}
.lead{color:var(--m);margin:0 0 1.25rem;max-width:50rem}
.head{display:flex;flex-wrap:wrap;gap:.75rem;align-items:flex-start;justify-content:space-between;margin:0 0 1rem}
.head .acts{display:flex;flex-wrap:wrap;gap:.5rem}
.card{background:var(--c);border:1px solid var(--b);border-radius:.875rem;padding:1.125rem;margin:0 0 1rem}
.card>:last-child{margin-bottom:0}
.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,15rem),1fr));gap:1rem;margin:0 0 1rem}
.cards .card{margin:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}
.sum{font-size:1.625rem;line-height:1.2;font-weight:700;margin:0}
.m{color:var(--m);font-size:.8125rem}
p.m{margin:.125rem 0 .5rem}
.sum+p.m,p.m+p.m{margin-top:-.25rem}
.none{text-align:center;padding:2rem 1rem;color:var(--m)}
.none b{display:block;color:var(--t);font-size:1.0625rem;margin-bottom:.25rem}
table{width:100%;border-collapse:collapse;font-size:.875rem;overflow-wrap:break-word}
.scroll{overflow-x:auto;background:var(--c);border:1px solid var(--b);border-radius:.875rem;margin:0 0 1rem}
.card .scroll{border:0;margin:0 -.25rem}
caption{text-align:left;padding:.75rem .875rem 0;font-weight:600}
caption.hid{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);padding:0}
th{text-align:left;font-weight:600;color:var(--m);font-size:.8125rem}
th,td{padding:.5625rem .875rem;border-bottom:1px solid var(--b);vertical-align:top}
tbody tr:last-child>*{border-bottom:0}
tbody tr:hover{background:color-mix(in srgb,var(--h) 45%,transparent)}
td.r,th.r{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
td time,td a>code{white-space:nowrap}
td .m{display:block}
.wrap{overflow-wrap:anywhere}
.tag{display:inline-block;padding:.0625rem .5rem;border-radius:1rem;font-size:.8125rem;font-weight:600;border:1px solid currentColor;white-space:nowrap}
.tag.s{color:var(--s);background:var(--sg)}.tag.e{color:var(--e);background:var(--eg)}.tag.w{color:var(--w);background:var(--wg)}.tag.n{color:var(--n);background:var(--ng)}
form{margin:0}
label,legend{font-weight:600;font-size:.875rem;padding:0}
fieldset{border:0;margin:0 0 1rem;padding:0;min-width:0}
.f{margin:0 0 .875rem;min-width:0}
.f .m{display:block}
input,select,textarea{display:block;width:100%;min-height:2.5rem;margin-top:.25rem;padding:.375rem .625rem;font:inherit;color:inherit;background:var(--c);border:1px solid var(--i);border-radius:.5rem}
input[type=checkbox],input[type=radio]{display:inline-block;width:1.125rem;height:1.125rem;min-height:0;margin:0 .5rem 0 0;accent-color:var(--k);vertical-align:-.1875rem}
input[type=color]{padding:.125rem;width:4rem}
textarea{min-height:8rem;font-family:ui-monospace,monospace;font-size:.8125rem}
[aria-invalid=true]{border:2px solid var(--e)}
.er{color:var(--e);font-weight:600;font-size:.875rem;margin:.25rem 0 0}
.row{display:grid;align-items:end;grid-template-columns:repeat(auto-fit,minmax(min(100%,10.5rem),1fr));gap:0 .875rem}
.filters{background:var(--c);border:1px solid var(--b);border-radius:.875rem;margin:0 0 1rem;padding:0 1.125rem}
.filters[open]{padding-bottom:.5rem}
button,.btn{display:inline-flex;align-items:center;justify-content:center;min-height:2.5rem;padding:.375rem 1rem;border:1px solid var(--a);border-radius:.5rem;background:var(--a);color:#fff;font:inherit;font-weight:600;text-decoration:none;cursor:pointer}
button.q,.btn.q{background:transparent;color:var(--k);border-color:var(--k)}
button.x{background:transparent;color:var(--e);border-color:var(--e)}
button.lk{background:none;border:0;padding:.25rem 0;min-height:0;color:var(--k);text-decoration:underline;font-weight:400}
button[disabled]{opacity:.6}
.acts form{display:inline-block}
:focus-visible{outline:3px solid var(--k);outline-offset:2px}
.box{border-radius:.75rem;padding:.75rem 1rem;margin:0 0 1rem;border:1px solid}
.box>:last-child{margin-bottom:0}
.bad{background:var(--eg);color:var(--e)}.warn{background:var(--wg);color:var(--w)}.good{background:var(--sg);color:var(--s)}.note{background:var(--ng);color:var(--n)}
.box a{color:inherit}
.box ul{margin:0;padding-left:1.25rem}
details>summary{cursor:pointer;color:var(--k);font-weight:600;padding:.5rem 0}
pre,code{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:.8125rem}
pre{background:var(--g);border:1px solid var(--b);border-radius:.5rem;padding:.75rem;margin:0 0 .75rem;white-space:pre-wrap;overflow-wrap:anywhere;max-height:30rem;overflow-y:auto}
pre mark{background:var(--f);color:var(--ft);font-weight:700}
.copyline{display:flex;gap:.5rem;align-items:center;margin:0 0 .75rem}
.copyline button{flex:none;white-space:nowrap}
.copyline code{flex:1;background:var(--g);border:1px solid var(--b);border-radius:.5rem;padding:.5rem .625rem;min-width:0}
dl.facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,13rem),1fr));gap:.75rem 1.25rem;margin:0 0 .75rem}
dl.facts dt{color:var(--m);font-size:.8125rem}
dl.facts dd{margin:0;font-weight:600}
ol.line{list-style:none;margin:0;padding:0 0 0 1.25rem;border-left:2px solid var(--b)}
ol.line>li{position:relative;padding:0 0 1rem .25rem}
ol.line>li::before{content:"";position:absolute;left:-1.6875rem;top:.3125rem;width:.6875rem;height:.6875rem;border-radius:50%;background:var(--c);border:2px solid var(--i)}
ol.line>li.s::before{background:var(--s);border-color:var(--s)}ol.line>li.e::before{background:var(--e);border-color:var(--e)}ol.line>li.w::before{background:var(--w);border-color:var(--w)}
ol.line b{display:block}
.pager{display:flex;gap:.75rem;align-items:center;flex-wrap:wrap;margin:0 0 1rem}
ul.plain{list-style:none;margin:0;padding:0}
ul.plain>li{padding:.625rem 0;border-bottom:1px solid var(--b)}
ul.plain>li:last-child{border:0}
svg.chart{display:block;width:100%;height:auto}
.chart text{fill:var(--m);font-size:12px}.chart .ok{fill:var(--a)}.chart .no{fill:var(--e)}.chart .op{fill:var(--i)}.chart .grid{stroke:var(--b)}.chart .ln{fill:none;stroke:var(--k);stroke-width:2}.chart .dot{fill:var(--k)}
@media(prefers-color-scheme:dark){.chart .ok{fill:#2d9c8c}}
.legend{display:flex;gap:1rem;flex-wrap:wrap;font-size:.8125rem;color:var(--m);margin:0 0 .5rem;padding:0;list-style:none}
.legend svg.chart{display:inline-block;width:.75rem;height:.75rem;margin-right:.375rem;vertical-align:-.0625rem}
.qr svg{display:block;width:13rem;max-width:100%;border-radius:.5rem}
progress{width:100%;height:.75rem;accent-color:var(--a)}
.preview{align-self:start;border:1px dashed var(--i);border-radius:.875rem;padding:1rem;text-align:center}
.preview .pv{border-radius:.75rem;background:var(--c);padding:1rem}
.preview img{max-width:4rem;max-height:4rem;border-radius:.5rem}
footer{color:var(--m);font-size:.8125rem;padding:0 1.25rem 2rem}
@media(max-width:52rem){
.shell{display:block}
nav.menu{padding:.25rem .5rem;background:var(--c);border-bottom:1px solid var(--b);overflow-x:auto;overflow-y:hidden}
nav.menu ul{display:flex;white-space:nowrap}
nav.menu .sep{display:none}
nav.menu a{padding:.5rem .625rem}
main{padding:1rem .875rem 2rem}
.who{margin-left:0}
kbd{display:none}
.find input{padding-right:.625rem}
.scroll.t{border:0;background:none;overflow:visible}
.scroll.t table{overflow-wrap:anywhere}.scroll.t td.r{white-space:normal}
.scroll.t table,.scroll.t tbody,.scroll.t tr,.scroll.t td{display:block}
.scroll.t thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.scroll.t tr{background:var(--c);border:1px solid var(--b);border-radius:.75rem;padding:.5rem .875rem;margin:0 0 .625rem}
.scroll.t td{border:0;padding:.1875rem 0;display:flex;gap:1rem;justify-content:space-between;text-align:right}
.scroll.t td::before{content:attr(data-l);color:var(--m);font-size:.8125rem;text-align:left;flex:none;max-width:45%}
.scroll.t td:has(>div:empty){display:none}
.scroll.t caption{display:block}
.card .scroll.t tr{background:var(--g)}
}
@media print{.sb,header.top,nav.menu,button,.btn{display:none!important}.shell{display:block}}
`);
