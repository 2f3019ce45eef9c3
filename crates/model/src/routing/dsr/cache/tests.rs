use super::*;
use crate::params::{Params as _, RFC};

fn cache(change: impl FnOnce(&mut Params)) -> Cache {
    let mut params = Params::of_profile(RFC);
    change(&mut params);
    Cache::new(&params, Address(0))
}

fn hops(hops: &[u32]) -> Vec<Address> {
    hops.iter().map(|&hop| Address(hop)).collect()
}

fn at(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

#[test]
fn the_shortest_path_is_found_also_within_a_longer_one() {
    for kind in [CacheKind::Path, CacheKind::Link] {
        let mut cache = cache(|params| params.cache = kind);
        cache.add(&hops(&[1, 2, 3, 4]), Source::Asked, at(0));
        cache.add(&hops(&[5, 3]), Source::Noticed, at(0));
        assert_eq!(cache.find(Address(3), at(1)), Some(hops(&[5, 3])), "{kind:?}");
        assert_eq!(cache.find(Address(2), at(1)), Some(hops(&[1, 2])), "{kind:?}");
        assert_eq!(cache.find(Address(9), at(1)), None, "{kind:?}");
    }
}

#[test]
fn a_link_cache_joins_links_of_different_paths_and_a_path_cache_does_not() {
    for (kind, expected) in [(CacheKind::Path, vec![1, 2, 3, 4]), (CacheKind::Link, vec![5, 3, 4])] {
        let mut cache = cache(|params| params.cache = kind);
        cache.add(&hops(&[1, 2, 3, 4]), Source::Asked, at(0));
        cache.add(&hops(&[5, 3]), Source::Noticed, at(0));
        assert_eq!(cache.find(Address(4), at(1)), Some(hops(&expected)), "{kind:?}");
    }
}

#[test]
fn a_broken_link_cuts_paths_in_its_direction_alone() {
    for kind in [CacheKind::Path, CacheKind::Link] {
        let mut cache = cache(|params| params.cache = kind);
        cache.add(&hops(&[1, 2, 3]), Source::Asked, at(0));
        cache.remove_link(Address(3), Address(2));
        assert!(cache.find(Address(3), at(1)).is_some(), "{kind:?}: the other direction");
        cache.remove_link(Address(2), Address(3));
        assert_eq!(cache.find(Address(3), at(1)), None, "{kind:?}");
        assert_eq!(cache.find(Address(2), at(1)), Some(hops(&[1, 2])), "{kind:?}");
        cache.remove_link(Address(0), Address(1));
        assert_eq!(cache.find(Address(2), at(1)), None, "{kind:?}");
    }
}

#[test]
fn routes_are_forgotten_after_the_timeout_unless_they_are_used() {
    for kind in [CacheKind::Path, CacheKind::Link] {
        let mut cache = cache(|params| {
            params.cache = kind;
            params.route_cache_timeout = Span::from_secs(10);
        });
        cache.add(&hops(&[1, 2]), Source::Asked, at(0));
        assert!(cache.take(Address(2), at(9)).is_some(), "{kind:?}");
        assert!(cache.find(Address(2), at(18)).is_some(), "{kind:?}");
        assert_eq!(cache.find(Address(2), at(19)), None, "{kind:?}");
    }
}

#[test]
fn each_part_of_a_path_cache_keeps_its_number_of_paths() {
    let mut cache = cache(|params| (params.primary_paths, params.secondary_paths) = (2, 1));
    for hop in 1..=3 {
        cache.add(&hops(&[hop]), Source::Asked, at(0));
    }
    let known = |cache: &Cache| (1..=5).filter(|&hop| cache.find(Address(hop), at(1)).is_some()).collect::<Vec<_>>();
    assert_eq!(known(&cache), [2, 3], "the place of the first is used again");
    cache.add(&hops(&[4]), Source::Noticed, at(0));
    cache.add(&hops(&[5]), Source::Noticed, at(0));
    assert_eq!(known(&cache), [2, 3, 5]);
    // A path that is used moves to the routes that the node wants to keep.
    assert_eq!(cache.take(Address(5), at(1)), Some(hops(&[5])));
    cache.add(&hops(&[4]), Source::Noticed, at(0));
    assert_eq!(known(&cache), [3, 4, 5]);
}

#[test]
fn a_path_that_goes_on_from_a_known_one_takes_no_place() {
    let mut cache = cache(|params| params.primary_paths = 1);
    cache.add(&hops(&[1, 2]), Source::Asked, at(0));
    cache.add(&hops(&[1, 2, 3]), Source::Asked, at(0));
    cache.add(&hops(&[1]), Source::Asked, at(0));
    assert_eq!(cache.find(Address(3), at(1)), Some(hops(&[1, 2, 3])));
}

#[test]
fn links_of_stable_nodes_live_longer() {
    let mut cache = cache(|params| {
        params.cache = CacheKind::Link;
        params.link_lifetime = LinkLifetime::Stability;
    });
    cache.add(&hops(&[1]), Source::Asked, at(0));
    assert!(cache.find(Address(1), at(24)).is_some());
    assert_eq!(cache.find(Address(1), at(25)), None, "InitStability");
    cache.add(&hops(&[1]), Source::Asked, at(30));
    assert!(cache.take(Address(1), at(31)).is_some());
    assert!(cache.find(Address(1), at(150)).is_some(), "UseExtends");
    // Both ends have become more stable, and less when the link breaks: 25 s * 4 / 2.
    cache.remove_link(Address(0), Address(1));
    cache.add(&hops(&[1]), Source::Asked, at(200));
    assert!(cache.find(Address(1), at(249)).is_some());
    assert_eq!(cache.find(Address(1), at(250)), None);
}

#[test]
fn s6_7_no_route_has_more_hops_than_route_hops() {
    let links: Vec<u32> = (1..=10).collect();
    for kind in [CacheKind::Path, CacheKind::Link] {
        let mut cache = cache(|params| (params.cache, params.route_hops) = (kind, 4));
        cache.add(&hops(&links), Source::Asked, at(0));
        assert_eq!(cache.find(Address(4), at(1)), Some(hops(&[1, 2, 3, 4])), "{kind:?}");
        assert_eq!(cache.find(Address(5), at(1)), None, "{kind:?}");
    }
}

#[test]
fn s6_7_links_of_several_paths_make_no_longer_route_either() {
    let mut cache = cache(|params| (params.cache, params.route_hops) = (CacheKind::Link, 4));
    cache.add(&hops(&[1, 2, 3]), Source::Asked, at(0));
    cache.add(&hops(&[6, 3, 4, 5]), Source::Asked, at(0));
    cache.remove_link(Address(0), Address(6));
    assert_eq!(cache.find(Address(4), at(1)), Some(hops(&[1, 2, 3, 4])));
    assert_eq!(cache.find(Address(5), at(1)), None);
}

#[test]
fn nodes_that_share_a_set_of_the_index_are_told_apart() {
    let mut cache = cache(|_| {});
    cache.add(&hops(&[1, 2]), Source::Noticed, at(0));
    assert!(!cache.has(Address(65), at(1)));
    assert_eq!(cache.find(Address(65), at(1)), None);
    cache.add(&hops(&[65, 66]), Source::Noticed, at(0));
    cache.remove_link(Address(65), Address(66));
    assert_eq!(cache.find(Address(2), at(1)), Some(hops(&[1, 2])));
    assert_eq!((cache.find(Address(66), at(1)), cache.find(Address(65), at(1))), (None, Some(hops(&[65]))));
}

#[test]
fn a_cache_may_have_more_paths_than_a_word_has_bits() {
    let mut cache = cache(|params| params.secondary_paths = 130);
    for first in 1..=131 {
        cache.add(&hops(&[first, 1000 + first]), Source::Noticed, at(0));
    }
    assert!(!cache.has(Address(1001), at(1)), "the last path has the place of the first one");
    for first in 2..=131 {
        assert_eq!(cache.find(Address(1000 + first), at(1)), Some(hops(&[first, 1000 + first])));
        cache.remove_link(Address(first), Address(1000 + first));
        assert!(!cache.has(Address(1000 + first), at(1)));
    }
}
