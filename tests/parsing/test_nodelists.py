"""Node lists on generated text."""

from hypothesis import given
from hypothesis import strategies as st

from jupyter_diamond.errors import ParseError
from jupyter_diamond.parsing import nodelists

prefixes = st.from_regex(r"[a-z][a-z0-9]{0,4}[a-z-]", fullmatch=True)


@given(prefixes, st.integers(0, 500), st.integers(0, 60), st.integers(1, 5))
def test_a_range_gives_each_number_once_with_its_padding(prefix, low, extra, width):
    high = low + extra
    names = nodelists.expand(f"{prefix}[{low:0{width}d}-{high:0{width}d}]")
    assert list(names) == [f"{prefix}{number:0{width}d}" for number in range(low, high + 1)]


@given(st.lists(st.tuples(prefixes, st.integers(0, 99)), min_size=1, max_size=8))
def test_plain_names_stay_as_they_are(parts):
    names = [f"{prefix}{number}" for prefix, number in parts]
    if any(name in ("none", "n/a", "unknown") for name in names):
        return
    assert list(nodelists.expand(",".join(names))) == names


@given(st.text(alphabet="abn019[]-,: ()$", max_size=20))
def test_any_text_is_a_list_or_our_own_error(text):
    try:
        names = nodelists.expand(text)
    except ParseError:
        return
    assert all(name and name[0].isalnum() and not set(name) & set("[],: ()$") for name in names)
