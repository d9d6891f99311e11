"""What tests of users call: whether generated text is close to real text."""

from textassay.face import make_face

make_face(__name__)
