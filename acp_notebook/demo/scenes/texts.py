"""The longer texts of the scenes.

Data only.
"""

from __future__ import annotations

MARKDOWN = r"""# A tour of markdown

A paragraph with *emphasis*, **strong words**, ~~a mistake~~, `inline code` and
[a link](https://agentclientprotocol.com/).

## Code

```python
def mean(values: list[float]) -> float:
    # an empty list is the caller's problem
    return sum(values) / len(values)
```

```diff
- return sum(values) / len(values)
+ return sum(values) / max(len(values), 1)
```

## A table

| step | rows | seconds |
|:-----|-----:|--------:|
| read | 1200 |    0.31 |
| join |  980 |    0.07 |
| plot |   40 |    0.22 |

## Lists

1. First, look
2. Then decide
   - with a nested point
   - and another
3. Then do

- [x] done
- [ ] to do

## Math

Inline $e^{i\pi} + 1 = 0$, and on its own:

$$
\bar{x} = \frac{1}{n} \sum_{i=1}^{n} x_i
$$

> A quotation, with a `code` word in it.

---

What must stay harmless: <script>alert("no")</script> and [a bad link](javascript:alert(1)).
Unicode: naïve café, 日本語, 🙂, and a long word: Donaudampfschifffahrtsgesellschaft.
"""

SAMPLE_OLD = """def mean(values):
    return sum(values) / len(values)
"""

SAMPLE_NEW = """def mean(values):
    if not values:
        raise ValueError("no values")
    return sum(values) / len(values)
"""
