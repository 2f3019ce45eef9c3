//! Rows of results as Arrow tables, handed to Python without a copy through the Arrow PyCapsule interface.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchIterator, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde::{Deserialize, Serialize};
use serde_arrow::ArrayBuilder;
use serde_arrow::schema::{SchemaLike, TracingOptions};

/// What every row of a case's runs carries, so that it can be traced.
pub struct Origin {
    /// The scenario's name.
    pub scenario: String,
    /// The compared keys and this case's values, in the order of the comparison.
    pub settings: Vec<(String, String)>,
    /// The seed of the case's runs.
    pub seed: u64,
    /// The hash of the case's configuration.
    pub config: String,
}

/// Gathers rows of one kind.
pub struct Rows {
    fields: Vec<FieldRef>,
    builder: ArrayBuilder,
    case: Vec<u32>,
    run: Vec<u32>,
}

impl Rows {
    /// No rows of type `R` yet; the columns are those of the type.
    ///
    /// # Errors
    /// When the type is not a flat row.
    pub fn of<R: Deserialize<'static>>() -> serde_arrow::Result<Self> {
        let fields: Vec<FieldRef> = SchemaLike::from_type::<R>(TracingOptions::default())?;
        // Names are few and come often. pandas takes no dictionary with unsigned keys.
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        let fields: Vec<FieldRef> = fields
            .into_iter()
            .map(|field| match field.data_type() {
                DataType::Utf8 | DataType::LargeUtf8 => {
                    Arc::new(Field::new(field.name(), dictionary.clone(), field.is_nullable()))
                }
                _ => field,
            })
            .collect();
        let builder = ArrayBuilder::from_arrow(&fields)?;
        Ok(Self { fields, builder, case: Vec::new(), run: Vec::new() })
    }

    /// Appends the rows of one run of one case.
    ///
    /// # Errors
    /// When a row does not have the columns of its type.
    pub fn extend<R: Serialize>(&mut self, case: u32, run: u32, rows: &[R]) -> serde_arrow::Result<()> {
        self.builder.extend(rows)?;
        self.case.resize(self.case.len() + rows.len(), case);
        self.run.resize(self.run.len() + rows.len(), run);
        Ok(())
    }

    /// The table: where the row comes from, what it says, and how to make it again.
    ///
    /// # Errors
    /// When two columns have one name or the arrays do not fit; a defect of this program.
    pub fn finish(mut self, origins: &[Origin], version: &str) -> Result<Table, ArrowError> {
        let rows = self.builder.to_record_batch().map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        let text = |name: &str, value: &dyn Fn(&Origin) -> String| -> (FieldRef, ArrayRef) {
            let array: ArrayRef = Arc::new(repeated(&self.case, origins, value));
            (Arc::new(Field::new(name, array.data_type().clone(), false)), array)
        };
        let mut columns = vec![text("scenario", &|origin| origin.scenario.clone())];
        let mut keys: Vec<&String> = Vec::new();
        for (key, _) in origins.iter().flat_map(|origin| &origin.settings) {
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        for key in keys {
            let value = |origin: &Origin| {
                origin.settings.iter().find(|(name, _)| name == key).map_or_else(String::new, |(_, v)| v.clone())
            };
            columns.push(text(key, &value));
        }
        let plain = |name: &str, array: ArrayRef| -> (FieldRef, ArrayRef) {
            (Arc::new(Field::new(name, array.data_type().clone(), false)), array)
        };
        columns.push(plain("run", Arc::new(UInt32Array::from(self.run))));
        columns.extend(self.fields.into_iter().zip(rows.columns().iter().cloned()));
        // A comparison of seeds has them as a setting already.
        if !columns.iter().any(|(field, _)| field.name() == "seed") {
            let seeds: UInt64Array = self.case.iter().map(|&case| Some(origins[case as usize].seed)).collect();
            columns.push(plain("seed", Arc::new(seeds)));
        }
        columns.push(text("config", &|origin| origin.config.clone()));
        columns.push(text("version", &|_| version.to_owned()));
        columns.push(plain("case", Arc::new(UInt32Array::from(self.case.clone()))));
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(|batch| Table { batch })
    }
}

/// A text of each row's case, stored once for each different text.
fn repeated(cases: &[u32], origins: &[Origin], text: &dyn Fn(&Origin) -> String) -> DictionaryArray<Int32Type> {
    let mut texts: Vec<String> = Vec::new();
    let mut known: BTreeMap<String, i32> = BTreeMap::new();
    let mut key_of = Vec::with_capacity(origins.len());
    for origin in origins {
        let text = text(origin);
        let next = i32::try_from(texts.len()).expect("fewer than 2^31 cases");
        key_of.push(*known.entry(text.clone()).or_insert_with(|| {
            texts.push(text);
            next
        }));
    }
    let keys: Int32Array = cases.iter().map(|&case| Some(key_of[case as usize])).collect();
    DictionaryArray::new(keys, Arc::new(StringArray::from(texts)))
}

/// A table of results. Anything that speaks the Arrow PyCapsule interface reads it without a copy.
#[pyclass(frozen, module = "hopyard._core")]
pub struct Table {
    batch: RecordBatch,
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface lets a producer answer with its own schema whatever is asked for.
        let _ = requested_schema;
        let reader = RecordBatchIterator::new([Ok(self.batch.clone())], self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    /// The names of the columns.
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.batch.schema().fields().iter().map(|field| field.name().clone()).collect()
    }

    fn __repr__(&self) -> String {
        format!("<hopyard table: {} rows, {} columns>", self.batch.num_rows(), self.batch.num_columns())
    }
}

/// A defect of this program in making a table.
pub fn defect(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("a table of results could not be made: {error}"))
}
