from textassay.continuation.continuation import continue_prefixes as continue_prefixes
from textassay.continuation.prefixes import blocks as blocks
from textassay.continuation.prefixes import corrupted as corrupted
from textassay.continuation.prefixes import data_prefixes as data_prefixes
from textassay.continuation.prefixes import model_prefixes as model_prefixes
from textassay.continuation.prefixes import random_prefixes as random_prefixes
from textassay.continuation.prefixes import shuffled as shuffled
from textassay.continuation.prefixes import unseen_halves as unseen_halves
