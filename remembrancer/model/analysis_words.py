"""English word lists: words that say nothing in a search, and words that open sentences without being names."""

from __future__ import annotations

_STOP = """
a about above after again against all also am an and any are aren't as at be because been before being below between
both but by can can't cannot could couldn't did didn't do does doesn't doing don't down during each few for from
further had hadn't has hasn't have haven't having he he'd he'll he's her here here's hers herself him himself his how
how's i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just let's me more most mustn't my myself
no nor not of off on once only or other ought our ours ourselves out over own same shan't she she'd she'll she's should
shouldn't so some such than that that'd that's the their theirs them themselves then there there's these they they'd
they'll they're they've this those through to too under until up us very was wasn't we we'd we'll we're we've were
weren't what what's when when's where where's which while who who's whom whose why why's will with won't would wouldn't
you you'd you'll you're you've your yours yourself yourselves
"""

_OPENERS = """
absolutely according actually ah all almost alright although always amazing and anything anyway anyways apparently
ask asked aw awesome aww back basically because believe besides best better big both bring btw but bye call called
came catch check cheers come coming congrats congratulations cool could count creating crazy currently dang darn
dear definitely did do does doing done each eh either enjoy enjoyed especially even eventually ever every everybody
everyone everything exactly excited exciting experiencing exploring fair fantastic feel feeling feels fine finally
find finding first focus for forget fortunately found from fun funny get gets getting give given giving glad go going
gonna good got gotcha gotta gosh great guess had haha happy hard have haven having he hearing heard hello help helping
here hey hi hmm honestly hope hopefully hoping hot how however huge i if imagine in incredible indeed instead
interesting is isn it it's its just keep keeping kind know last lately later learn learned learning let lets life like
likewise listen little living ll look looking looks lol lots love loved lovely loving luckily made make makes making
many may maybe me mean meanwhile meet meeting might more moreover most much must my name naturally nature never new
next nice no nobody none nope nor not nothing now obviously of off oh ok okay on once one only oops or other others
otherwise ouch our out over overall perfect perhaps playing please plus possibly probably pretty put quick quite rather
re read reading really recently regarding remember reminds right running same saw say saying see seeing
seems seen several she should show similarly since sir slowly so some somebody somehow someone something sometimes
soon sorry sounds spending start started starting still stay staying such super suppose sure surely take taking talk
talking tell thank thankfully thanks that that's the their them then there there's therefore these they thing things
think thinking this those though thought thus time to today together tomorrow tonight too totally try trying turns
two two type ugh um under unfortunately until up us usually very wait walking want wanted was watch watching way we
well went were what whatever when whenever where wherever whether which while whoa who whose why will wish with
within without wonderful wondering work working would wow writing yay yea yeah yep yes yesterday yet you you're your
note warning todo see use using used set run remind dont woohoo woah nah yup phew fyi y'all wanna aha yum eek bet agreed
fixed added updated removed moved changed deployed decided talked visited planned tried booked bought met worked called
asked finished reported created failed released renamed reverted replaced merged tested closed opened agreed please
highly lucky appreciate wishing need cute thoughts stuff brave strong long spill cherish respect takes missed care
across along amid among amongst around aside beyond despite except inside near neither onto ought outside per throughout
till toward towards unless unlike upon via whenever whereas whichever whoever whomever yours
"""

_NEVER = (
    "shall mine mon tue tues wed thu thur thurs fri sat sun mr mrs ms dr prof sir ok okay lol hi hey hello thanks bye"
)

_NAMED_FOR = """
academy agency alliance association bureau campaign center centre coalition commission committee council department
foundation fund initiative institute ministry network office organization organisation partnership school secretary
society union
"""

_EPITHETS = """
baptist bold brave builder confessor conqueror elder explorer great hun impaler kid lionheart magnificent pooh terrible
tank wise younger
"""

MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip

WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

STOP_WORDS = frozenset(_STOP.split())
"""Not indexed."""

OPENERS = frozenset(_OPENERS.split())
"""Capitalised only because they open a sentence."""

NOT_NAMES = STOP_WORDS | frozenset(WEEKDAYS) | frozenset(MONTHS) | frozenset(_NEVER.split())
"""No names wherever they stand. Weekdays and months alone would tie together what has nothing in common; a month with
a day or year is a date and is taken as one."""

NAMED_FOR = frozenset(_NAMED_FOR.split())
"""Names that may go on with "for": the "Institute for Ocean Studies"."""

EPITHETS = frozenset(_EPITHETS.split())
"""What may follow "the" inside of a person's name: "Alexander the Great"."""
