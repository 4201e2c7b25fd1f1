"""The one list of stages."""

from llmpedia import stage_list
from llmpedia.materialize import stages
from llmpedia.materialize.walk_stage import STAGE_CLASSES


def test_every_stage_of_the_list_has_a_class_and_every_class_a_line():
    assert set(stages.walk_stages()) == set(STAGE_CLASSES) == set(stage_list.walk_stage_names())
    assert len({stage.name for stage in stage_list.all_stages()}) == len(stage_list.all_stages())
