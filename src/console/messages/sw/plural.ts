// A number with its noun, in Swahili: the noun stands first.

export const plural = (count: number, one: string, many: string) => `${count === 1 ? one : many} ${count}`;
