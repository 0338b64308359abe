"""Products of matrices."""
from torch_cases.case import both, case
from torch_draw import COMPUTED, FLOATS


def products():
    def size(d):
        return d.size() if d.chance(0.9) else d.whole(8, 40)

    def types(d):
        return [d.pick(*COMPUTED[:5], *FLOATS * 6)] * 3 if d.chance(0.95) else [d.dtype() for _ in range(3)]

    def inner(d, k):
        return k + 1 if d.wrong and d.chance(0.5) else k

    def of(d, *shapes):
        return [d.tensor(s, t, "finite") for s, t in zip(shapes, types(d))]
    case("mm", lambda d: (lambda m, k, n: of(d, [m, k], [inner(d, k), n]))(size(d), size(d), size(d)), tolerance=10)
    case("bmm",
         lambda d: (lambda b, m, k, n: of(d, [b, m, k], [b, inner(d, k), n]))(d.size(), size(d), size(d), size(d)),
         tolerance=10)
    case("mv", lambda d: (lambda m, k: of(d, [m, k], [inner(d, k)]))(size(d), size(d)), tolerance=10)
    case("dot", lambda d: (lambda k: of(d, [k], [inner(d, k)]))(size(d)), tolerance=10)
    case("outer", lambda d: [d.tensor([size(d)]), d.tensor([size(d)])])

    def ranks(d):
        k, batches = size(d), d.shape(0, 2)
        left = d.pick([k], [size(d), k], [1 if d.chance(0.3) else b for b in batches] + [size(d), k])
        right = d.pick([inner(d, k)], [k, size(d)], [1 if d.chance(0.3) else b for b in batches] + [k, size(d)])
        return of(d, left if d.chance(0.97) else [], right)
    case("matmul", ranks, tolerance=10)

    def factor(d):
        return d.pick(1, 1, 0, 2, 0.5)

    def add(d, make):
        m, k, n = size(d), size(d), size(d)
        t = types(d)
        shape = d.pick([m, n], [n], [1, n], [m, 1], []) if make == d.tensor else [m, n]
        return [make(shape, t[0], "finite"), d.tensor([m, k], t[1], "finite"),
                d.tensor([inner(d, k), n], t[2], "finite"), factor(d), factor(d)]
    both("addmm", add, tolerance=10)

    def batches(d):
        b, m, k, n = d.size(), size(d), size(d), size(d)
        t = types(d)
        shape = d.pick([b, m, n], [1, m, n], [n], [m, 1])
        return [d.tensor(s, u, "finite") for s, u in zip((shape, [b, m, k], [b, k, n]), t)] + [factor(d), factor(d)]
    case("baddbmm", batches, tolerance=10)

    def linear(d):
        k, n, t = size(d), size(d), d.float()
        return [d.tensor(d.shape(0, 3) + [inner(d, k)], t, "finite"), d.tensor([n, k], t, "finite"),
                d.pick(None, d.tensor([n], t, "finite"))]
    case("linear", linear, tolerance=10)
    equations = "ij,jk->ik ij,kj->ik i,i-> i,j->ij ii->i ii-> ij->ji ij->j bij,bjk->bik ...ij,...jk->...ik ij,jk " \
                "bi,ij,bj->b i...->... ij,ij->i abc,cd->abd abc->cab ij->".split()

    def einsum(d):
        equation, t = d.pick(*equations), d.float()
        sizes = {letter: d.size() for letter in "abcdijk"}
        more = d.shape(0, 2)
        shapes = []
        for term in equation.split("->")[0].split(","):
            shape = []
            for letter in term.replace("...", "."):
                shape += more if letter == "." else [sizes[letter]]
            shapes.append(shape)
        return [equation, [d.tensor(s, t, "finite") for s in shapes]]
    case("einsum", einsum, tolerance=10)


products()
