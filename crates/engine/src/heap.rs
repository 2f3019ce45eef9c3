//! A four-ary heap of packed keys, the least on top.

/// Keys of which the least can be had at any time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap(Vec<u128>);

impl Heap {
    /// The least key.
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

    /// Every key, in no particular order.
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

    /// Puts a key in the place of the least, and lets it sink to its own.
    #[inline]
    pub(crate) fn replace_first(&mut self, key: u128) {
        self.0[0] = key;
        self.sift_down();
    }

    /// Takes in keys while the heap is empty. `keys` is left empty.
    pub(crate) fn fill(&mut self, keys: &mut Vec<u128>) {
        debug_assert!(self.is_empty(), "only an empty heap is filled");
        // What is sorted is a heap.
        keys.sort_unstable();
        self.0.append(keys);
    }

    /// Gives away every key that is not kept; those that are stay a heap.
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
                // Which child is least cannot be foretold: comparisons that choose places, not branches, find it.
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
