// How the test phones look, and the script that lets them ring by themselves.

import { inlineScript, inlineStyle } from '../platform/html.ts';

export const PHONE_STYLE = inlineStyle(`
:root{color-scheme:light dark;--g:#eef1f4;--c:#fff;--t:#17202b;--m:#556070;--b:#d3d9e0;--i:#78838f;--k:#0b6157;--e:#b3261e}
@media(prefers-color-scheme:dark){:root{--g:#12171d;--c:#1c232c;--t:#eef2f6;--m:#aab4c0;--b:#38424e;--i:#8793a1;--k:#7fd0c2;--e:#ffb4ab}}
*{box-sizing:border-box}
body{margin:0;background:var(--g);color:var(--t);font:1rem/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
header,footer{max-width:70rem;margin:0 auto;padding:1rem}
h1{font-size:1.25rem;margin:0 0 .25rem}
h2{font-size:1rem;margin:0;line-height:1.3}
h3{font-size:.8125rem;margin:1rem 0 .375rem;color:var(--m);font-weight:600}
p{margin:0 0 .5rem}
a{color:var(--k)}
main{display:flex;flex-wrap:wrap;gap:1.5rem;justify-content:center;align-items:flex-start;padding:0 1rem 1rem}
.find{display:flex;flex-wrap:wrap;gap:.5rem;align-items:end}
.find label{flex:1 1 14rem;max-width:22rem}
label{display:block;font-weight:600;font-size:.875rem}
input{display:block;width:100%;font-weight:400!important;min-height:2.75rem;padding:.5rem .625rem;margin-top:.125rem;font:inherit;color:inherit;background:var(--c);border:1px solid var(--i);border-radius:.5rem}
button{min-height:2.75rem;padding:.5rem .875rem;border:1px solid var(--k);border-radius:.5rem;background:transparent;color:var(--k);font:inherit;font-weight:600;cursor:pointer}
:focus-visible{outline:3px solid var(--k);outline-offset:2px}
.set{flex:0 1 22rem;width:100%;max-width:22rem;background:var(--c);border:.375rem solid #2b323b;border-radius:1.75rem;overflow:hidden}
.bar{display:flex;gap:.5rem;align-items:center;justify-content:space-between;padding:.75rem 1rem}
.bar small{display:block;font-size:.8125rem}
.in{padding:0 1rem 1rem}
.off .screen{opacity:.75}
.said{border-radius:.5rem;padding:.5rem .75rem;margin:.75rem 0 0;border:1px solid var(--i)}
.said.no{border-color:var(--e);color:var(--e)}
.ussd{background:#f7f7f7;color:#111;border:2px solid #444;border-radius:.75rem;padding:.875rem;margin:.75rem 0 0}
.ussd p{white-space:pre-line}
.ussd input{background:#fff;color:#111;border-color:#555}
.ussd button{border-color:#0a4f48;color:#0a4f48}
.ussd button.go{background:#0b6157;color:#fff}
.row{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.625rem}
.row button{flex:1}
.sms{list-style:none;margin:0;padding:0}
.sms li{border:1px solid var(--b);border-radius:.75rem .75rem .75rem .125rem;padding:.5rem .75rem;margin:0 0 .5rem}
.sms b,.sms time{font-size:.8125rem}
.sms time{color:var(--m);float:right;margin-left:.5rem}
.sms p{margin:.125rem 0 0}
.tag{display:inline-block;border:1px solid currentColor;border-radius:1rem;padding:0 .5rem;font-size:.8125rem;color:var(--m)}
details{margin-top:.75rem}
summary{min-height:2rem;cursor:pointer;color:var(--k);font-weight:600}
details label,.dial label{margin-top:.5rem}
.dial{display:flex;gap:.5rem;align-items:end;margin-top:.75rem}
.dial label{flex:1;margin:0}
.m{color:var(--m);font-size:.875rem}
table{border-collapse:collapse;font-size:.875rem}
th{white-space:nowrap}
td,th{text-align:left;padding:.25rem .75rem .25rem 0;border-bottom:1px solid var(--b);vertical-align:top}
.list{display:block;max-width:70rem;margin:0 auto}
.got{background:var(--c);border:1px solid var(--b);border-radius:.75rem;padding:1rem;margin:0 0 1rem}
pre{white-space:pre-wrap;margin:.5rem 0 0;font-size:.8125rem;overflow-wrap:anywhere}
.nums a{display:inline-block;padding:.25rem .75rem .25rem 0;min-height:1.75rem}
`);

/**
 * Each phone waits for its own news; the screen is replaced when something happened, and what was being typed stays.
 * Without scripts the page is simply loaded again.
 */
export const PHONE_SCRIPT = inlineScript(`
(function(d){
d.querySelectorAll('.set').forEach(function(set){
var screen=set.querySelector('.screen'),wait=500;
function typed(){var m={};screen.querySelectorAll('input[id]').forEach(function(i){m[i.id]=i.value});return m}
function show(j){
var old=typed(),at=d.activeElement&&screen.contains(d.activeElement)?d.activeElement.id:'';
screen.innerHTML=j.html;set.dataset.version=j.version;set.classList.toggle('off',!j.on);
Object.keys(old).forEach(function(k){var i=d.getElementById(k);if(i)i.value=old[k]});
if(at&&d.getElementById(at))d.getElementById(at).focus();
}
function ask(){
if(d.hidden)return;
fetch(set.dataset.news+'&version='+set.dataset.version,{cache:'no-store'}).then(function(r){if(!r.ok)throw 0;return r.json()}).then(function(j){
wait=500;if(String(j.version)!==set.dataset.version)show(j);ask()},function(){setTimeout(ask,wait);wait=Math.min(wait*2,15000)});
}
d.addEventListener('visibilitychange',function(){if(!d.hidden)ask()});
ask();
});
})(document)
`);
