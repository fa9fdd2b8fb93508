import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { UnderWay } from './under-way.ts';

describe('what is under way', () => {
  it('knows the oldest, in whichever order they end', () => {
    const list = new UnderWay<string>();
    assert.equal(list.oldest, null);
    const [first, second, third] = ['first', 'second', 'third'].map((name) => list.add(name));
    assert.ok(first && second && third);
    list.end(second);
    assert.equal(list.oldest, 'first');
    list.end(first);
    assert.equal(list.oldest, 'third');
    const fourth = list.add('fourth');
    list.end(third);
    assert.equal(list.oldest, 'fourth');
    list.end(fourth);
    assert.equal(list.oldest, null);
    list.add('fifth');
    assert.equal(list.oldest, 'fifth');
  });

  it('is shown whole to who ends one after the other', () => {
    const list = new UnderWay<number>();
    const entries = [0, 1, 2].map((item) => list.add(item));
    const ended = list.all().filter((item) => entries[item] && list.end(entries[item]));
    assert.deepEqual(ended, [0, 1, 2]);
    assert.deepEqual(list.all(), []);
  });

  it('lets go of what has ended: its entry holds nothing, and ending it again changes nothing', () => {
    const list = new UnderWay<{ name: string }>();
    const entry = list.add({ name: 'over' });
    list.add({ name: 'still there' });
    assert.equal(list.end(entry), true);
    assert.deepEqual(entry, { item: null, older: null, newer: null });
    assert.equal(list.end(entry), false);
    assert.equal(list.oldest?.name, 'still there');
  });
});
