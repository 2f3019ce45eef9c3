//! Rows of results as Arrow tables. Python gets them without a copy through the Arrow PyCapsule interface.

use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, RecordBatch, RecordBatchIterator, UInt32Array, UInt64Array};
use arrow_schema::{ArrowError, DataType, Field, FieldRef, Schema};
use hopyard_model::observe::Row;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use serde::{Deserialize, Serialize};
use serde_arrow::ArrayBuilder;
use serde_arrow::schema::{SchemaLike, TracingOptions};

/// Collects rows of one type.
pub struct Rows {
    fields: Vec<FieldRef>,
    builder: ArrayBuilder,
    case: Vec<u32>,
    run: Vec<u32>,
    /// Columns after the columns of the rows' type.
    further: Vec<(String, Vec<Option<u64>>)>,
}

impl Rows {
    /// An empty table with the columns of type `R`.
    ///
    /// # Errors
    /// If the type is not a flat row.
    pub fn of<R: Deserialize<'static>>() -> serde_arrow::Result<Self> {
        let fields: Vec<FieldRef> = SchemaLike::from_type::<R>(TracingOptions::default())?;
        // There are few different names, so that a dictionary saves memory. pandas does not accept unsigned keys.
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
        Ok(Self { fields, builder, case: Vec::new(), run: Vec::new(), further: Vec::new() })
    }

    /// An empty table of results, with the columns of type `R` and its further ones.
    ///
    /// # Errors
    /// If the type is not a flat row.
    pub fn of_results<R: Row>() -> serde_arrow::Result<Self> {
        let further = R::further_columns().into_iter().map(|column| (column.name, Vec::new())).collect();
        Ok(Self { further, ..Self::of::<R>()? })
    }

    /// Appends the rows of one run of one case to a table of results.
    ///
    /// # Errors
    /// If a row does not have the columns of its type.
    pub fn extend_results<R: Row>(&mut self, case: u32, run: u32, rows: &[R]) -> serde_arrow::Result<()> {
        for (place, (_, column)) in self.further.iter_mut().enumerate() {
            column.extend(rows.iter().map(|row| row.further().get(place).copied().flatten()));
        }
        self.extend(case, run, rows)
    }

    /// Appends the rows of one run of one case.
    ///
    /// # Errors
    /// If a row does not have the columns of its type.
    pub fn extend<R: Serialize>(&mut self, case: u32, run: u32, rows: &[R]) -> serde_arrow::Result<()> {
        self.builder.extend(rows)?;
        self.case.resize(self.case.len() + rows.len(), case);
        self.run.resize(self.run.len() + rows.len(), run);
        Ok(())
    }

    /// The table: the number of the case, the number of the run, and the columns of the rows.
    ///
    /// # Errors
    /// If two columns have the same name or the arrays do not match; this is a defect of Hopyard.
    pub fn finish(mut self) -> Result<Table, ArrowError> {
        let number = |name: &str| Arc::new(Field::new(name, DataType::UInt32, false)) as FieldRef;
        let cases: ArrayRef = Arc::new(UInt32Array::from(std::mem::take(&mut self.case)));
        let runs: ArrayRef = Arc::new(UInt32Array::from(std::mem::take(&mut self.run)));
        self.table(vec![(number("case"), cases), (number("run"), runs)])
    }

    /// The table without the numbers of the case and of the run.
    ///
    /// # Errors
    /// If the arrays do not match; this is a defect of Hopyard.
    pub fn alone(self) -> Result<Table, ArrowError> {
        self.table(Vec::new())
    }

    /// The table of these columns, the columns of the rows' type, and the further ones.
    fn table(mut self, mut columns: Vec<(FieldRef, ArrayRef)>) -> Result<Table, ArrowError> {
        let rows = self.builder.to_record_batch().map_err(|error| ArrowError::ExternalError(Box::new(error)))?;
        columns.extend(self.fields.into_iter().zip(rows.columns().iter().cloned()));
        columns.extend(self.further.into_iter().map(|(name, values)| {
            let field: FieldRef = Arc::new(Field::new(name, DataType::UInt64, true));
            (field, Arc::new(UInt64Array::from(values)) as ArrayRef)
        }));
        let (fields, arrays): (Vec<_>, Vec<_>) = columns.into_iter().unzip();
        RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).map(|batch| Table { batch })
    }
}

/// A table of results. Programs with the Arrow PyCapsule interface read it without a copy.
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
        // The interface allows a producer to ignore the requested schema.
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

/// An error for a defect of Hopyard in building a table.
pub fn defect(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(format!("a table of results could not be made: {error}"))
}
