// What a script adds to pages that work without it: times in the viewer's zone, copy buttons, Ctrl-K, pages that follow
// what happens, files read into fields, and the preview of a payment link.

import { inlineScript } from '../platform/html.ts';

export const SCRIPT = inlineScript(`
(function(d,w){
var all=function(s,r){return Array.prototype.slice.call((r||d).querySelectorAll(s))},q=function(s){return d.querySelector(s)},lang=d.documentElement.lang;
var dress=function(root){
all('time[datetime]',root).forEach(function(t){var m=new Date(t.dateTime);t.title=t.dateTime.slice(0,19).replace('T',' ')+' UTC';
t.textContent=new Intl.DateTimeFormat(lang,t.dataset.day?{day:'numeric',month:'short',year:'numeric'}:{day:'numeric',month:'short',hour:'2-digit',minute:'2-digit',second:'2-digit',hour12:false}).format(m)});
all('button[data-copy]',root).forEach(function(b){b.hidden=false});
all('[data-js]',root).forEach(function(b){b.hidden=false})};
dress(d);
var cur=q('nav.menu [aria-current]');if(cur&&cur.parentNode.parentNode.parentNode.scrollWidth>w.innerWidth)cur.scrollIntoView({inline:'center',block:'nearest'});
d.addEventListener('click',function(e){var b=e.target.closest&&e.target.closest('button[data-copy]');if(b){var s=q(b.dataset.copy),o=b.textContent;
navigator.clipboard.writeText(s.textContent).then(function(){b.textContent=b.dataset.done;q('#say').textContent=b.dataset.done;setTimeout(function(){b.textContent=o},2000)})}
if(e.target.id=='print')w.print()});
d.addEventListener('keydown',function(e){var f=q('#q');if(f&&((e.key=='k'&&(e.ctrlKey||e.metaKey))||(e.key=='/'&&!/^(INPUT|TEXTAREA|SELECT)$/.test(d.activeElement.tagName)))){e.preventDefault();f.focus();f.select()}});
d.addEventListener('submit',function(e){var f=e.target;if(f.method!='post'||f.target)return;if(f.dataset.s){e.preventDefault();return}f.dataset.s=1;
setTimeout(function(){all('button',f).forEach(function(x){x.disabled=true})},0)});
w.addEventListener('pageshow',function(){all('form[data-s]').forEach(function(f){delete f.dataset.s;all('button',f).forEach(function(x){x.disabled=false})})});
d.addEventListener('change',function(e){var t=e.target;if(t.dataset.submit)t.form.submit();
if(t.type=='file'&&t.files[0]){if(t.dataset.text)t.files[0].text().then(function(x){q(t.dataset.text).value=x});
if(t.dataset.image){var r=new FileReader();r.onload=function(){var i=new Image();i.onload=function(){var k=Math.min(1,192/Math.max(i.width,i.height)),c=d.createElement('canvas');
c.width=Math.max(1,i.width*k);c.height=Math.max(1,i.height*k);c.getContext('2d').drawImage(i,0,0,c.width,c.height);var u=c.toDataURL('image/png');q(t.dataset.image).value=u;var p=q('#pvlogo');p.src=u;p.hidden=false};i.src=r.result};r.readAsDataURL(t.files[0])}}});
var pf=q('form[data-preview]');
if(pf){var paint=function(){all('[data-pv]').forEach(function(x){var f=pf.elements[x.dataset.pv];x.textContent=f&&f.value||x.dataset.empty})};pf.addEventListener('input',paint);paint()}
var every=Number(d.body.dataset.live||0)*1000;
if(every){var go=function(){if(d.hidden||q('main details[open]')||(d.activeElement&&q('main').contains(d.activeElement)))return setTimeout(go,every);
fetch(location.href,{cache:'no-store',headers:{'X-Live':'1'}}).then(function(r){return r.ok&&!r.redirected?r.text():''}).then(function(x){if(!x)return;
var n=new DOMParser().parseFromString(x,'text/html');dress(n);var a=n.querySelector('main');if(a&&a.innerHTML!=q('main').innerHTML)q('main').innerHTML=a.innerHTML;
if(n.body.dataset.live)setTimeout(go,every)},function(){setTimeout(go,every*2)})};setTimeout(go,every)}
var ex=q('a[data-export]');
if(ex){ex.addEventListener('click',function(){var id=ex.dataset.export,s=q('#exported'),ask=function(){fetch('/console/exports/'+id,{cache:'no-store'}).then(function(r){return r.json()}).then(function(j){s.textContent=j.text;if(!j.done)setTimeout(ask,700)})};setTimeout(ask,400)})}
})(document,window)
`);
