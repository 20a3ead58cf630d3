package look_test

import (
	"os"
	"testing"
)

func TestMicro(t *testing.T) {
	if os.Getenv("PERF") == "" {
		t.Skip()
	}
	p := newTab(t)
	p.write(bigPage())
	out := p.eval(p.world(), `(()=>{
const els=[...document.querySelectorAll('*')], r=[];
const w=document.createTreeWalker(document,4), texts=[];for(let n;n=w.nextNode();)texts.push(n);
const time=(name,f)=>{let best=1e9;for(let i=0;i<5;i++){const t=performance.now();f();best=Math.min(best,performance.now()-t)}r.push(name+' '+best.toFixed(1))};
const gbc=Element.prototype.getBoundingClientRect, cv=Element.prototype.checkVisibility;
time('walk',()=>{const fc=Object.getOwnPropertyDescriptor(Node.prototype,'firstChild').get,ns=Object.getOwnPropertyDescriptor(Node.prototype,'nextSibling').get;let k=0;const go=n=>{for(let c=fc.call(n);c;c=ns.call(c)){k++;go(c)}};go(document)});
time('style',()=>{for(const e of els)getComputedStyle(e)});
for(const prop of ['display','opacity','filter','mask','maskImage','position','clipPath','overflow','backgroundColor','cursor','contentVisibility','backfaceVisibility','contain','visibility','zIndex','webkitTextFillColor','webkitTextSecurity','color','fontSize','transform','textIndent']){
 time('style+'+prop,()=>{for(const e of els)getComputedStyle(e)[prop]});}
const css=els.map(e=>getComputedStyle(e));
for(const prop of ['display','opacity','filter','mask','maskImage','position','clipPath','overflow','backgroundColor','cursor','webkitTextFillColor','color'])time('held.'+prop,()=>{for(const c of css)c[prop]});
time('rect',()=>{for(const e of els)gbc.call(e)});
time('rect.left..',()=>{for(const e of els){const b=gbc.call(e);b.left+b.top+b.right+b.bottom}});
time('checkVis',()=>{for(const e of els)cv.call(e,{visibilityProperty:true,opacityProperty:true})});
const range=document.createRange();
time('range',()=>{for(const n of texts){range.selectNodeContents(n)}});
time('range rect',()=>{for(const n of texts){range.selectNodeContents(n);range.getBoundingClientRect()}});
time('hasAttr',()=>{for(const e of els)e.hasAttribute('role')});
time('matches',()=>{for(const e of els)e.matches('[onclick],[role],[data-action],[jsaction],[ng-click]')});
time('instanceof',()=>{for(const e of els)e instanceof HTMLElement});
time('localName',()=>{for(const e of els)e.localName});
time('data',()=>{for(const e of texts)/[^ \n]/.test(e.data)});
time('elFromPoint',()=>{for(let i=0;i<100;i++)document.elementFromPoint(i*10,i*5)});
time('innerText',()=>{document.body.innerText});
return els.length+' '+texts.length+'\n'+r.join('\n');
})()`)
	t.Log(out)
}
