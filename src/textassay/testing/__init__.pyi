from textassay.testing.closeness import assert_close as assert_close
