from textassay.testing.closeness import assert_close as assert_close
from textassay.testing.equivalent import assert_equivalent as assert_equivalent
