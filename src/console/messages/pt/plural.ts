// A number with its noun, in Portuguese.

export const plural = (count: number, one: string, many: string) => `${count} ${count === 1 ? one : many}`;
