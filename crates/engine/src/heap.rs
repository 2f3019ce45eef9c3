//! A heap of packed keys in which each node has four children. The smallest key is at the root.

/// A set of keys that always knows its smallest key.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap(Vec<u128>);

impl Heap {
    /// The smallest key.
    #[inline]
    pub(crate) fn first(&self) -> Option<u128> {
        self.0.first().copied()
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All keys, in no particular order.
    pub(crate) fn keys(&self) -> &[u128] {
        &self.0
    }

    #[inline]
    pub(crate) fn push(&mut self, key: u128) {
        let mut at = self.0.len();
        self.0.push(key);
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.0[parent] <= key {
                break;
            }
            self.0[at] = self.0[parent];
            at = parent;
        }
        self.0[at] = key;
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<u128> {
        let last = self.0.pop()?;
        match self.0.first_mut() {
            None => Some(last),
            Some(root) => {
                let first = std::mem::replace(root, last);
                self.sift_down();
                Some(first)
            }
        }
    }

    /// Replaces the smallest key by another one, and moves that down to its place.
    #[inline]
    pub(crate) fn replace_first(&mut self, key: u128) {
        self.0[0] = key;
        self.sift_down();
    }

    /// Moves keys into an empty heap. `keys` is empty afterwards.
    pub(crate) fn fill(&mut self, keys: &mut Vec<u128>) {
        debug_assert!(self.is_empty(), "only an empty heap is filled");
        // A sorted array is a heap.
        keys.sort_unstable();
        self.0.append(keys);
    }

    /// Removes and returns every key that `keep` refuses. The other keys remain a heap.
    pub(crate) fn split(&mut self, keep: impl Fn(u128) -> bool) -> Vec<u128> {
        let (mut kept, given): (Vec<u128>, Vec<u128>) = self.0.drain(..).partition(|&key| keep(key));
        self.fill(&mut kept);
        given
    }

    #[inline]
    fn sift_down(&mut self) {
        let heap = &mut self.0[..];
        let moving = heap[0];
        let mut at = 0;
        loop {
            let first = 4 * at + 1;
            let least = if let Some(children) = heap.get(first..first + 4) {
                // A branch on the smallest child is unpredictable. Comparisons that select an index avoid the branch.
                let left = usize::from(children[1] < children[0]);
                let right = 2 + usize::from(children[3] < children[2]);
                first + if children[right] < children[left] { right } else { left }
            } else if first < heap.len() {
                (first + 1..heap.len())
                    .fold(first, |least, child| if heap[child] < heap[least] { child } else { least })
            } else {
                break;
            };
            if moving <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = moving;
    }
}
