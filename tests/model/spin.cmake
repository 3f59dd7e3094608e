# The variants of hand_off.pml, each a test: what is built must hold, and each mutation must break. How the code is compiled does
# not matter to them, so sanitized builds leave them out.
function(weft_spin name expected kind)
    add_test(NAME model.hand_off.${name}
             COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/model/check_spin" "${CMAKE_CURRENT_BINARY_DIR}/spin/${name}" ${expected} ${kind} ${ARGN})
    set_tests_properties(model.hand_off.${name} PROPERTIES TIMEOUT ${WEFT_TEST_TIMEOUT} LABELS model)
endfunction()

weft_spin(TENURE_1_one_user_at_a_time holds safety)
weft_spin(HANDOFF_4_a_hog_loses_its_worker holds liveness LIVE)

weft_spin(TENURE_1_breaks_without_the_heavy_fence breaks safety NO_FENCE)
weft_spin(TENURE_1_breaks_when_the_call_is_read_first breaks safety CALL_FIRST)
weft_spin(TENURE_1_breaks_when_the_monitor_does_not_look breaks safety NO_LOOK)
weft_spin(TENURE_2_breaks_when_a_refusal_is_a_store breaks safety REFUSE_BY_STORE)
weft_spin(TENURE_2_breaks_when_the_monitor_takes_by_a_store breaks safety TAKE_BY_STORE)
weft_spin(TENURE_2_breaks_when_the_demand_is_a_store breaks safety DEMAND_BY_STORE)
weft_spin(TENURE_2_breaks_when_reclaiming_is_a_store breaks safety RECLAIM_BY_STORE)
weft_spin(TENURE_2_breaks_when_giving_up_is_a_store breaks safety GIVE_UP_BY_STORE)
weft_spin(TENURE_3_breaks_when_thief_and_monitor_share_a_call breaks safety SHARED)
weft_spin(HANDOFF_1_breaks_when_the_words_are_the_workers breaks safety WORDS_IN_WORKER)
weft_spin(HANDOFF_4_breaks_when_a_demand_is_withdrawn_at_once breaks liveness LIVE NOT_STICKY)
weft_spin(HANDOFF_4_breaks_when_every_demand_is_refused breaks liveness LIVE NO_CONCESSION)
