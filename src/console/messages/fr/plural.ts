// A number with its noun, in French.

export const plural = (count: number, one: string, many: string) => `${count} ${count < 2 ? one : many}`;
